import { describe, expect, test } from "vitest";
import { createDirectSource } from "./direct-source.ts";
import type { HttpAnswer } from "../answers/faults.ts";
import { traitsOf } from "../providers/providers.ts";
import type { StoreAccess } from "./signing.ts";
import { fixedCredential } from "./sigv4.ts";
import { s3Error } from "../testing/canned-server.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const HOUR = 3_600_000;
const access: StoreAccess = {
  endpoint: "https://s3.us-east-1.amazonaws.com",
  region: "us-east-1",
  bucket: "training",
  addressing: "virtual-host",
  traits: traitsOf("aws"),
};
const credential = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "a secret that stays here" };
const HEAD = { op: "head", key: "a" } as const;

const open = (more: Partial<StoreAccess> = {}) =>
  createDirectSource({ access: { ...access, ...more }, credential, now: () => NOON });
const seen = (answer: Partial<HttpAnswer>, storeTime = NOON) => ({
  answer: {
    status: 200,
    body: Buffer.alloc(0),
    ...answer,
    headers: { date: new Date(storeTime).toUTCString(), ...answer.headers },
  },
  sentAtMs: NOON - 50,
  receivedAtMs: NOON + 50,
});
const urlOf = async (source: ReturnType<typeof open>): Promise<URL> => {
  const [request] = await source.sign([HEAD]);
  return new URL(request?.url ?? "");
};

test("every operation is signed, in order, at the source's own clock", async () => {
  const now = () => Date.UTC(2026, 0, 2);
  const source = createDirectSource({ access, credential, now, lifetimeMs: 60_000 });
  const signed = await source.sign([HEAD, { op: "abort", key: "a", uploadId: "u" }, { ...HEAD, key: "b" }]);
  expect(signed.map(({ method }) => method)).toEqual(["HEAD", "DELETE", "HEAD"]);
  expect(signed[0]?.url).toContain("X-Amz-Date=20260102T000000Z");
  expect(signed[0]?.expiresAt).toBe(Date.UTC(2026, 0, 2, 0, 1));
});

test("a whole object is written only where none lies when that was asked for, and a completion has no condition", async () => {
  const plain = { ...access, traits: { ...access.traits, conditionalWrites: false } };
  const put = { op: "put", key: "a", sizeBytes: 1, nonce: "n".repeat(32), crc32: "00000000" } as const;
  const complete = { op: "complete", key: "a", uploadId: "u" } as const;
  const conditionsOf = async (putsOnlyIfAbsent: boolean) => {
    const source = createDirectSource({ access: plain, credential, now: () => NOON, putsOnlyIfAbsent });
    return (await source.sign([put, complete])).map(({ headers }) => headers["if-none-match"]);
  };
  expect(await conditionsOf(true)).toEqual(["*", undefined]);
  expect(await conditionsOf(false)).toEqual([undefined, undefined]);
});

describe("a clock that is wrong", () => {
  test("is noticed in any answer, and signatures follow the store's", async () => {
    const source = open();
    expect((await urlOf(source)).searchParams.get("X-Amz-Date")).toBe("20261121T120000Z");
    expect(source.observe(seen({}, NOON - 2 * HOUR))).toBe("sign again");
    expect((await urlOf(source)).searchParams.get("X-Amz-Date")).toMatch(/^20261121T(0959|1000)/);
    expect(source.clockSentence()).toBe("this machine's clock is 2 h ahead of the store's");
    expect(Math.abs(source.now() - (NOON - 2 * HOUR))).toBeLessThan(1000);
    expect(source.observe(seen({}, NOON - 2 * HOUR))).toBe("as before");
  });

  test("is noticed in a refusal whose Date is missing", () => {
    const source = open();
    const { body } = s3Error(403, "RequestTimeTooSkewed", "<ServerTime>2026-11-21T14:00:00Z</ServerTime>");
    const headers = { date: undefined };
    expect(source.observe(seen({ status: 403, headers, body: Buffer.from(String(body)) }))).toBe("sign again");
    expect(source.clockSentence()).toBe("this machine's clock is 2 h behind the store's");
  });

  test("of less than a minute changes nothing", () => {
    const source = open();
    expect(source.observe(seen({}, NOON + 40_000))).toBe("as before");
    expect(source.now()).toBe(NOON);
  });
});

describe("a wrong region", () => {
  const moved = (region: string, more: HttpAnswer["headers"] = {}) =>
    seen({
      status: 301,
      headers: { "x-amz-bucket-region": region, ...more },
      body: Buffer.from(String(s3Error(301, "PermanentRedirect").body)),
    });

  test("is corrected once, on the provider's own host and never where the answer points", async () => {
    const source = open();
    const location = "https://evil.example/training";
    expect(source.regionSentence()).toBeNull();
    expect(source.observe(moved("eu-west-3", { location }))).toBe("sign again");
    const url = await urlOf(source);
    expect(url.host).toBe("training.s3.eu-west-3.amazonaws.com");
    expect(url.searchParams.get("X-Amz-Credential")).toContain("/eu-west-3/s3/");
    expect(source.access).toMatchObject({ region: "eu-west-3", endpoint: "https://s3.eu-west-3.amazonaws.com" });
    expect(source.regionSentence()).toBe("the bucket is in the region eu-west-3, not in us-east-1");
    expect(source.observe(moved("eu-west-3"))).toBe("as before");
    // Two answers that point at each other do not send us round for ever.
    expect(source.observe(moved("us-east-1"))).toBe("as before");
  });

  test("is corrected in the signature alone where the host has no regions", async () => {
    const source = open({ endpoint: "http://store.example:9000", addressing: "path" });
    const body = Buffer.from(String(s3Error(400, "AuthorizationHeaderMalformed", "<Region>garage</Region>").body));
    expect(source.observe(seen({ status: 400, body }))).toBe("sign again");
    const url = await urlOf(source);
    expect(url.host).toBe("store.example:9000");
    expect(url.searchParams.get("X-Amz-Credential")).toContain("/garage/s3/");
  });

  test("is not read into a success, another refusal, or a name that is no region's", () => {
    const source = open();
    const headers = { "x-amz-bucket-region": "eu-west-3" };
    const denied = Buffer.from(String(s3Error(403, "AccessDenied").body));
    expect(source.observe(seen({ headers }))).toBe("as before");
    expect(source.observe(seen({ status: 403, headers, body: denied }))).toBe("as before");
    expect(source.observe(moved("evil.example/"))).toBe("as before");
    expect(source.access.region).toBe("us-east-1");
  });
});

describe("a store that takes no bucket in the path", () => {
  const forbidden = (code: string) => seen({ status: 403, body: Buffer.from(String(s3Error(403, code).body)) });
  const other = { endpoint: "https://store.example:9000", addressing: "path" } as const;

  test.each([
    "SecondLevelDomainForbidden",
    "PathStyleDomainForbidden",
    "VirtualHostDomainRequired",
    "InvalidPathAccess",
  ])("is asked before its host once it said so with %s, and is told once", async (code) => {
    const source = open(other);
    expect(source.styleSentence()).toBeNull();
    expect(source.observe(forbidden(code))).toBe("sign again");
    const url = await urlOf(source);
    expect([url.host, url.pathname]).toEqual(["training.store.example:9000", "/a"]);
    expect(source.styleSentence()).toBe(
      "the store takes the bucket only before its host, as in training.store.example",
    );
    expect(source.observe(forbidden(code))).toBe("as before");
  });

  test("is asked as before where no other address is possible, and after any other refusal", async () => {
    for (const more of [
      { endpoint: "https://192.0.2.7" },
      { endpoint: "https://store.example/s3" },
      { bucket: "a.b" },
    ]) {
      const source = open({ ...other, ...more });
      expect(source.observe(forbidden("SecondLevelDomainForbidden"))).toBe("as before");
      expect((await urlOf(source)).pathname).toMatch(/\/(training|a\.b)\/a$/);
    }
    expect(open(other).observe(forbidden("AccessDenied"))).toBe("as before");
  });
});

test("says how far the store's clock is ahead, and nothing where both may be the same", () => {
  const source = open();
  expect(source.aheadMs()).toBe(0);
  source.observe(seen({}));
  expect(source.aheadMs()).toBe(0);
  const ahead = open();
  ahead.observe(seen({}, NOON + 40_000));
  expect(ahead.aheadMs()).toBeGreaterThanOrEqual(40_000);
  expect(ahead.aheadMs()).toBeLessThan(42_000);
  const behind = open();
  behind.observe(seen({}, NOON - 40_000));
  expect(behind.aheadMs()).toBeLessThan(-38_000);
});

test("keys are asked for at every signature, so that temporary ones can be renewed", async () => {
  let id = "ASIAFIRST";
  const source = createDirectSource({
    access,
    credential: { ...fixedCredential(credential), now: () => ({ ...credential, accessKeyId: id }) },
    now: () => NOON,
  });
  expect((await urlOf(source)).searchParams.get("X-Amz-Credential")).toContain("ASIAFIRST/");
  id = "ASIASECOND";
  expect((await urlOf(source)).searchParams.get("X-Amz-Credential")).toContain("ASIASECOND/");
});
