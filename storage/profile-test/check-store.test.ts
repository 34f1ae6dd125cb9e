import { describe, expect, test } from "vitest";
import type { Provider } from "#protocol/base/provider.ts";
import type { ProfileCheck, ProfileTestView } from "#protocol/wire/profile-views.ts";
import { CHECKS } from "./check-list.ts";
import { checkStore } from "./check-store.ts";
import { createControlClient } from "../s3/client.ts";
import { createDirectSource } from "../signing/direct-source.ts";
import { traitsOf } from "../providers/providers.ts";
import type { StoreAccess } from "../signing/signing.ts";
import { PORTAL, s3Error, type Canned, type Seen } from "../testing/canned-server.ts";
import { operationOf, serveSmallStore, type SmallStore } from "../testing/small-store.ts";

const credential = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "a secret that stays here" };
const NOW = Date.UTC(2026, 10, 21, 12);
const ORIGIN = "https://hub.example.com";

interface Ran {
  view: ProfileTestView;
  store: SmallStore;
}

/** Tests a store that answers normally but for what `override` says. */
async function ran(override: (op: string, seen: Seen) => Canned | null, provider: Provider = "minio"): Promise<Ran> {
  await using store = await serveSmallStore(override, () => NOW);
  const access: StoreAccess = {
    endpoint: store.endpoint,
    region: "us-east-1",
    bucket: "training",
    addressing: "path",
    traits: traitsOf(provider),
  };
  const now = () => NOW;
  const client = createControlClient({ access, credential, now });
  const source = createDirectSource({ access, credential, now });
  const view = await checkStore({ client, access, source, fetch, prefix: "team-a/", now, origin: ORIGIN });
  client.destroy();
  return { view, store };
}
const refusing = (...ops: string[]) => ran((op) => (ops.includes(op) ? s3Error(403, "AccessDenied") : null));
const line = ({ view }: Ran, operation: string): ProfileCheck | undefined =>
  view.checks.find((check) => check.operation === operation);
const outcomes = ({ view }: Ran): Record<string, string> =>
  Object.fromEntries(view.checks.map(({ operation, outcome }) => [operation, outcome]));

test("a store that takes one write a second and key is waited for", async () => {
  let writes = 0;
  const result = await ran((op, { path }) => {
    if (op !== "PutObject" || !path.endsWith("/once.json") || ++writes !== 2) return null;
    const refusal = s3Error(429, "TooManyRequests");
    return { ...refusal, headers: { ...refusal.headers, "retry-after": "0" } };
  });
  expect(writes).toBe(3);
  expect(line(result, "PutObject if-none-match")?.outcome).toBe("ok");
});

test.each(["PutObject", "CreateMultipartUpload", "CompleteMultipartUpload"])(
  "a store that closes an idle connection once, just as %s is sent, is tested again and passes",
  async (closing) => {
    let closed = 0;
    const result = await ran((op) => (op === closing && ++closed === 1 ? { hangUp: true } : null));
    expect(closed).toBeGreaterThan(1);
    expect(result.view.checks.filter(({ outcome }) => outcome !== "ok" && outcome !== "unsupported")).toEqual([]);
    expect(result.view).toMatchObject({ ok: true, leftBehind: [] });
    const twice = await ran((op) => (op === closing ? { hangUp: true } : null));
    expect(twice.view.ok).toBe(false);
  },
);

describe("a store that can do everything", () => {
  test("passes, with one line for each operation", async () => {
    const result = await ran(() => null);
    expect(result.view.ok).toBe(true);
    expect(result.view.at).toBe(NOW);
    expect(Object.keys(outcomes(result)).toSorted()).toEqual(Object.keys(CHECKS).toSorted());
    expect(Object.values(outcomes(result)).filter((outcome) => outcome !== "ok")).toEqual([]);
    // Having no CORS rules is told, but is no fault of the profile.
    expect(line(result, "GetBucketCors")?.note).toBe("no rules yet");
    expect(line(result, "Clock")?.note).toBe("within a second");
    expect(result.view.found).toEqual({ checksum: "crc32", conditionalWrites: true, foundAt: NOW });
    expect(result.view.leftBehind).toEqual([]);
  });

  test("is asked for everything under a scratch prefix of this profile, and left as it was", async () => {
    const { store } = await ran(() => null);
    expect(store.objects.size).toBe(0);
    expect(store.uploads.size).toBe(0);
    const keys = store.seen.map(({ path }) => decodeURIComponent(path)).filter((path) => path !== "/training/");
    expect(keys.length).toBeGreaterThan(10);
    expect(keys.every((path) => path.startsWith("/training/team-a/tidemark-check/"))).toBe(true);
  });

  test("gets bytes the way the product sends them: presigned, with their length and sum", async () => {
    const { store } = await ran(() => null);
    const parts = store.seen.filter((seen) => operationOf(seen) === "UploadPart");
    expect(parts.map(({ body }) => body.length).slice(0, 2)).toEqual([1000, 5 * 1024 * 1024]);
    for (const { query, headers } of parts.slice(0, 2)) {
      expect(query.get("X-Amz-SignedHeaders")).toBe("content-length;host;x-amz-checksum-crc32");
      expect(headers["x-amz-checksum-crc32"]).toMatch(/==$/);
      expect(headers.authorization).toBeUndefined();
    }
  });

  test("uses another scratch folder each time", async () => {
    const folderOf = ({ store }: Ran) => /tidemark-check\/[^/]+/.exec(store.seen[0]?.path ?? "")?.[0];
    expect(folderOf(await ran(() => null))).not.toBe(folderOf(await ran(() => null)));
  });
});

describe("a key that may not do everything", () => {
  test.each([
    ["ListObjectsV2", "s3:ListBucket"],
    ["PutObject", "s3:PutObject"],
    ["GetObject", "s3:GetObject"],
    ["CreateMultipartUpload", "s3:PutObject"],
    ["ListParts", "s3:ListMultipartUploadParts"],
    ["AbortMultipartUpload", "s3:AbortMultipartUpload"],
  ])("that may not %s is told the missing action %s", async (operation, action) => {
    const result = await refusing(operation);
    expect(result.view.ok).toBe(false);
    expect(line(result, operation)).toMatchObject({
      outcome: "refused",
      missingAction: action,
      rawCode: "AccessDenied",
      httpStatus: 403,
      fault: { code: "ACCESS_DENIED" },
    });
  });

  test("still shows what works", async () => {
    const result = await refusing("ListObjectsV2", "CreateMultipartUpload");
    expect(outcomes(result)).toMatchObject({
      ListObjectsV2: "refused",
      PutObject: "ok",
      GetObject: "ok",
      CreateMultipartUpload: "refused",
      UploadPart: "skipped",
      CompleteMultipartUpload: "skipped",
    });
  });

  test("that may not delete passes all the same, and is told so", async () => {
    const result = await refusing("DeleteObject");
    expect(result.view.ok).toBe(true);
    expect(line(result, "DeleteObject")).toMatchObject({ outcome: "refused", missingAction: "s3:DeleteObject" });
  });

  test("that may not list uploads leaves none behind either", async () => {
    const { store } = await ran((op, seen) => {
      if (op === "ListMultipartUploads") return s3Error(403, "AccessDenied");
      return op === "UploadPart" && seen.query.get("partNumber") === "2" ? s3Error(400, "InvalidArgument") : null;
    });
    expect(store.uploads.size).toBe(0);
  });
});

describe("a test that ends in the middle", () => {
  test("removes what it wrote, also when the connection broke", async () => {
    const { store, view } = await ran((op, seen) =>
      op === "UploadPart" && seen.query.get("partNumber") === "2" ? { hangUp: true } : null,
    );
    expect(view.ok).toBe(false);
    expect([store.objects.size, store.uploads.size]).toEqual([0, 0]);
    expect(view.leftBehind).toEqual([]);
  });

  test("goes on where the store had closed a connection that is used again", async () => {
    let lost = 0;
    const { view } = await ran((op) => (op === "UploadPart" && lost++ === 0 ? { hangUp: true } : null));
    expect(view.checks.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(view.ok).toBe(true);
    expect(lost).toBeGreaterThan(2);
  });

  test("names what it could not remove, and why", async () => {
    const { store, view } = await refusing("DeleteObject", "AbortMultipartUpload", "UploadPart");
    const keys = view.leftBehind.map(({ kind, key }) => `${kind} ${key.replace(/^.*\//, "")}`);
    expect(keys.toSorted()).toEqual([
      "object once.json",
      "object small object+~é.bin",
      "upload dropped.bin",
      "upload large.bin",
    ]);
    expect(view.leftBehind.every(({ fault }) => fault.code === "ACCESS_DENIED")).toBe(true);
    expect(store.objects.size + store.uploads.size).toBe(4);
  });

  test("names nothing where nothing was written", async () => {
    expect((await refusing("PutObject", "CreateMultipartUpload", "DeleteObject")).view.leftBehind).toEqual([]);
  });
});

describe("a store that nobody knows", () => {
  const unknown = (override: Parameters<typeof ran>[0]) => ran(override, "other");

  test("is asked with the best checksum first, and what it takes is found out", async () => {
    const refusesSums = await unknown((_op, { headers }) =>
      Object.keys(headers).some((name) => name.startsWith("x-amz-checksum") || name === "x-amz-sdk-checksum-algorithm")
        ? s3Error(400, "InvalidArgument")
        : null,
    );
    expect(refusesSums.view.ok).toBe(true);
    expect(refusesSums.view.found).toMatchObject({ checksum: "md5" });
  });

  test("whose conditions hold on a PUT but not on Complete is not trusted with them", async () => {
    const result = await unknown((op, { headers }) =>
      op === "CompleteMultipartUpload" && headers["if-none-match"] !== undefined
        ? s3Error(501, "NotImplemented")
        : null,
    );
    expect(line(result, "PutObject if-none-match")?.outcome).toBe("ok");
    expect(line(result, "CompleteMultipartUpload if-none-match")?.outcome).toBe("unsupported");
    expect(result.view.found.conditionalWrites).toBe(false);
  });
});

describe("a store that only seems to work", () => {
  test("is caught ignoring conditions", async () => {
    const result = await ran((op, seen) => {
      if (op !== "PutObject" || seen.headers["if-none-match"] === undefined) return null;
      return { headers: { etag: '"written over"' } };
    });
    expect(line(result, "PutObject if-none-match")?.outcome).toBe("unsupported");
  });

  test("is caught ignoring ranges", async () => {
    const result = await ran((op) =>
      op === "GetObject" ? { status: 200, headers: { etag: '"a"' }, body: "all of it".padEnd(100_000) } : null,
    );
    expect(result.view.ok).toBe(false);
    expect(line(result, "GetObject")?.fault?.code).toBe("RANGE_IGNORED");
  });

  test("is caught giving other bytes than it was given", async () => {
    const wrong = "x".repeat(1000);
    const result = await ran((op, { headers }) =>
      op === "GetObject"
        ? {
            status: 206,
            headers: { etag: String(headers["if-match"]), "content-range": "bytes 100-1099/2048" },
            body: wrong,
          }
        : null,
    );
    expect(line(result, "GetObject")?.fault?.code).toBe("CHECKSUM_MISMATCH");
  });

  test("is caught losing the nonce that tells a lost answer from a lost object", async () => {
    const result = await ran((op) =>
      op === "HeadObject" ? { headers: { etag: '"a"', "content-length": 2048 } } : null,
    );
    expect(result.view.ok).toBe(false);
    expect(line(result, "HeadObject")?.outcome).toBe("failed");
  });

  test("is caught listing other parts than it was sent", async () => {
    const none = "<ListPartsResult><UploadId>u</UploadId><IsTruncated>false</IsTruncated></ListPartsResult>";
    const result = await ran((op) => (op === "ListParts" ? { body: none } : null));
    expect(line(result, "ListParts")).toMatchObject({ outcome: "failed", fault: { code: "UNEXPECTED_ANSWER" } });
    expect(outcomes(result)).toMatchObject({ CompleteMultipartUpload: "ok" });
  });

  test("is caught confirming an upload with an error inside", async () => {
    const result = await ran((op) => (op === "CompleteMultipartUpload" ? s3Error(200, "InternalError") : null));
    expect(line(result, "CompleteMultipartUpload")?.fault?.code).toBe("STORE_UNAVAILABLE");
    expect(result.store.uploads.size).toBe(0);
  });

  test("is told apart from one that does not have an operation", async () => {
    const result = await ran((op) => (op === "ListParts" ? s3Error(501, "NotImplemented") : null));
    expect(line(result, "ListParts")).toMatchObject({ outcome: "unsupported", missingAction: null });
  });
});

describe("a store that cannot be used at all", () => {
  test.each([
    ["a captive portal", PORTAL, "INTERCEPTED"],
    ["a wrong secret", s3Error(403, "SignatureDoesNotMatch"), "BAD_CREDENTIALS"],
    ["a bucket that does not exist", s3Error(404, "NoSuchBucket"), "NO_SUCH_BUCKET"],
    ["a clock that is off", s3Error(403, "RequestTimeTooSkewed"), "CLOCK_SKEW"],
    ["a connection that breaks", { hangUp: true } as const, "LINK_DOWN"],
  ])("because of %s says why once and tries no further", async (_name, canned, code) => {
    const result = await ran(() => canned);
    expect(result.view.ok).toBe(false);
    expect(result.view.checks[0]).toMatchObject({ operation: "ListObjectsV2", fault: { code } });
    const rest = result.view.checks.slice(1).filter(({ operation }) => operation !== "Clock");
    expect(rest.map(({ outcome, skippedBecause }) => `${outcome} ${skippedBecause}`)).toEqual(
      rest.map(() => "skipped ListObjectsV2"),
    );
    expect(result.store.seen.length).toBeLessThan(4);
  });

  test("never shows a secret or a signature", async () => {
    const { view } = await ran(() => s3Error(400, "Odd"));
    expect(JSON.stringify(view)).not.toMatch(/X-Amz-Signature|a secret that stays here/);
  });
});

describe("the store's clock", () => {
  const at = (date: string) => ran((op) => (op === "HeadObject" ? { status: 404, headers: { date } } : null));

  test("is compared with ours", async () => {
    const { view } = await at("Sat, 21 Nov 2026 14:00:00 GMT");
    expect(view.clockSkewMs).toBe(2 * 3_600_000 + 500);
    expect((await at("Sat, 21 Nov 2026 10:00:00 GMT")).view.clockSkewMs).toBe(-2 * 3_600_000 + 500);
  });

  test("that is far off has a line of its own, with the sentence", async () => {
    const ahead = await at("Sat, 21 Nov 2026 10:00:00 GMT");
    const says = "this machine's clock is 2 h ahead of the store's";
    expect(line(ahead, "Clock")).toMatchObject({ outcome: "failed", fault: { code: "CLOCK_SKEW", detail: says } });
    expect(ahead.view.checks.filter(({ operation }) => operation === "PutObject")[0]?.outcome).toBe("ok");
  });

  test("is not guessed when the store does not tell it", async () => {
    const silent = await at("around noon");
    expect(silent.view.clockSkewMs).toBeNull();
    expect(line(silent, "Clock")).toMatchObject({ outcome: "unsupported", note: "the store does not tell its time" });
  });
});
