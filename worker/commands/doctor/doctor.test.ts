import { createServer, type RequestListener, type Server } from "node:http";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { CHECKS } from "#storage/profile-test/check-list.ts";
import { parseCommandLine } from "#worker/command-line/cli.ts";
import { resolveConfig } from "#worker/command-line/config.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";
import { storeCredential } from "#worker/hub-link/node-credential.ts";
import { createTerminal } from "#worker/command-line/terminal.ts";
import { examine } from "./doctor.ts";
import type { Finding } from "./finding.ts";

let store: TrialStore;
let state: string;
beforeAll(async () => {
  store = await openTrialStore();
});
afterAll(() => store.close());
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-doctor-"));
});
afterEach(async () => {
  await store.disarm();
  await rm(state, { recursive: true, force: true });
});

interface Seen {
  code: number;
  findings: Finding[];
  of(check: string): Finding | undefined;
  outcomes: Record<string, string>;
}

async function say(args: readonly string[], env: Record<string, string>, json: boolean) {
  const own = args.includes("--state") ? [] : ["--state", state];
  const invocation = parseCommandLine(["doctor", ...own, ...args]);
  let out = "";
  const streams = { out: (text: string) => (out += text), talk: () => undefined, isTty: false, columns: 0, rows: 0 };
  const code = await examine({
    config: resolveConfig({ ...invocation, env }),
    operands: invocation.operands,
    terminal: createTerminal(streams, { json, plain: true }),
    signal: new AbortController().signal,
    home: null,
    output: async () => undefined,
    input: () => Readable.from([]),
  });
  return { code, out };
}

async function doctor(args: readonly string[], env: Record<string, string> = {}): Promise<Seen> {
  const { code, out } = await say(args, env, true);
  const lines: (Finding & { type: string })[] = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const findings = lines.filter(({ type }) => type === "check");
  return {
    code,
    findings,
    of: (check) => findings.find((finding) => finding.check === check),
    outcomes: Object.fromEntries(findings.map(({ check, outcome }) => [check, outcome])),
  };
}

const keys = () => ({
  AWS_ENDPOINT_URL: store.access.endpoint,
  AWS_ACCESS_KEY_ID: store.credential.accessKeyId,
  AWS_SECRET_ACCESS_KEY: store.credential.secretAccessKey,
});
const refuse = (op: string) => store.arm({ op, action: { kind: "error", status: 403, code: "AccessDenied" } });

describe("of a bucket the doctor", () => {
  test("finds nothing wrong where all is well, ends with 0 and leaves nothing behind", async () => {
    const seen = await doctor(["s3://trial/fine"], keys());
    expect(seen.code).toBe(0);
    const bad = seen.findings.filter(({ outcome }) => outcome !== "ok");
    expect(bad.map(({ check }) => check)).toEqual(["hub"]);
    expect(seen.outcomes).toMatchObject({ clock: "ok", "store name": "ok", "store connection": "ok", PutObject: "ok" });
    expect(await readdir(state)).toEqual([]);
    const made = await store.count("PutObject");
    expect(made.map(({ key }) => key).filter((key) => !key.startsWith("fine/tidemark-check/"))).toEqual([]);
    expect(made.length).toBeGreaterThan(0);
  });

  const operations = Object.entries(CHECKS).filter(([name]) => !/ |^GetBucketCors$|^Clock$/.test(name));
  test.each(operations)("names the right that is missing for %s, and where to give it", async (operation, check) => {
    await refuse(operation);
    const seen = await doctor(["s3://trial/team"], keys());
    const finding = seen.of(operation);
    expect(finding?.outcome).toBe(check.required ? "failed" : "warn");
    const place = check.action.includes("Bucket") ? "trial" : "trial/team/*";
    expect(finding?.fix).toBe(`Allow these keys ${check.action} on arn:aws:s3:::${place}`);
    expect(finding?.says).toContain(check.neededFor);
    expect(seen.code).toBe(check.required ? FAULTS.ACCESS_DENIED.exit : 0);
  });

  test("says that a bucket does not exist, and tries nothing more", async () => {
    const seen = await doctor(["s3://nobody/x"], keys());
    expect(seen.code).toBe(FAULTS.NO_SUCH_BUCKET.exit);
    expect(seen.of("ListObjectsV2")).toMatchObject({ outcome: "failed", fault: { code: "NO_SUCH_BUCKET" } });
    expect(seen.outcomes["PutObject"]).toBe("skipped");
  });

  test("says that the secret is wrong", async () => {
    const seen = await doctor(["s3://trial/x"], { ...keys(), AWS_SECRET_ACCESS_KEY: "another" });
    expect(seen.code).toBe(FAULTS.BAD_CREDENTIALS.exit);
    expect(seen.of("ListObjectsV2")?.fault?.code).toBe("BAD_CREDENTIALS");
  });

  test("says that keys are missing, and still looks at the way there", async () => {
    const seen = await doctor(["s3://trial/x"], { AWS_ENDPOINT_URL: store.access.endpoint });
    expect(seen.code).toBe(FAULTS.BAD_INPUT.exit);
    expect(seen.outcomes).toMatchObject({ "store connection": "ok", clock: "ok", keys: "failed" });
    expect(seen.of("keys")?.says).toContain("AWS_ACCESS_KEY_ID");
  });

  test("says that nothing listens there, and tries neither clock nor rights", async () => {
    const seen = await doctor(["s3://trial/x"], { ...keys(), AWS_ENDPOINT_URL: "http://127.0.0.1:9" });
    expect(seen.code).toBe(FAULTS.LINK_DOWN.exit);
    expect(seen.of("store connection")).toMatchObject({ outcome: "failed", fault: { code: "LINK_DOWN" } });
    expect(seen.outcomes).not.toHaveProperty("PutObject");
    expect(seen.outcomes["clock"]).toBe("skipped");
  });

  test("says that an address of a store is none", async () => {
    const seen = await doctor(["s3://trial/x"], { ...keys(), AWS_ENDPOINT_URL: "trial.example.com" });
    expect(seen.code).toBe(FAULTS.BAD_INPUT.exit);
    expect(seen.of("store")?.says).toContain("an endpoint looks like");
  });

  test("that is only named by its endpoint looks at the way there, and asks for a bucket", async () => {
    const seen = await doctor([], keys());
    expect(seen.code).toBe(0);
    expect(seen.outcomes).toMatchObject({ "store connection": "ok", clock: "ok", permissions: "skipped" });
    expect(seen.of("permissions")?.fix).toContain("tidemark doctor s3://bucket/prefix");
  });

  test("refuses what is no address in a bucket, or more than one", async () => {
    await expect(doctor(["./folder"])).rejects.toMatchObject({ code: "BAD_INPUT" });
    await expect(doctor(["s3://a", "s3://b"])).rejects.toMatchObject({ code: "BAD_INPUT" });
  });
});

describe("of the machine the doctor", () => {
  test("says what it could not look at and how to let it, when nothing is named", async () => {
    const seen = await doctor([]);
    expect(seen.code).toBe(0);
    const left = seen.findings.filter(({ outcome }) => outcome === "skipped").map(({ check }) => check);
    expect(left).toEqual(["store", "hub", "clock"]);
    expect(seen.of("store")?.fix).toContain("tidemark doctor s3://bucket/prefix");
    expect(seen.of("hub")?.fix).toContain("--hub URL");
  });

  test("shows a line for each check, and below it what to do", async () => {
    const { out } = await say([], {}, false);
    expect(out).toMatch(/^ok +state folder +.+ can be written$/m);
    expect(out).toMatch(/^skipped +hub +no hub was named\n +-> Name it: --hub URL/m);
  });

  test("says that the state folder cannot be written, and how to name another", async () => {
    const file = join(state, "a-file");
    await writeFile(file, "");
    const seen = await doctor(["--state", join(file, "below")]);
    expect(seen.code).toBe(FAULTS.FOLDER_UNWRITABLE.exit);
    expect(seen.of("state folder")).toMatchObject({ outcome: "failed", fault: { code: "FOLDER_UNWRITABLE" } });
    expect(seen.of("state folder")?.fix).toContain("--state DIR");
    expect(seen.outcomes).not.toHaveProperty("state lock");
  });

  test("names the variables that nothing reads", async () => {
    const seen = await doctor([], { TIDEMARK_PART_SISE: "8MiB" });
    expect(seen.code).toBe(0);
    expect(seen.of("settings")?.outcome).toBe("warn");
    expect(seen.of("settings")?.says).toContain("TIDEMARK_PART_SISE (did you mean TIDEMARK_PART_SIZE?)");
    expect((await doctor([])).outcomes["settings"]).toBe("ok");
  });

  test("says which worker holds the state folder", async () => {
    await writeFile(join(state, "worker.lock"), `${process.pid} `);
    const seen = await doctor([]);
    expect(seen.of("state lock")?.says).toContain(`process ${process.pid}`);
  });
});

describe("of a hub the doctor", () => {
  let server: Server | null = null;
  afterEach(() => {
    server?.close();
    server?.closeAllConnections();
  });
  async function serve(listener: RequestListener): Promise<string> {
    const made = createServer(listener);
    server = made;
    await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
    const address = made.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  }
  const answering =
    (status: number, body: unknown): RequestListener =>
    (_request, response) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
  const healthy = { ok: true, version: "9.9.9", protocol: PROTOCOL_VERSION, oldestProtocol: 1 };

  test("says its version, that the protocols fit, and compares the clock with it", async () => {
    const seen = await doctor(["--hub", await serve(answering(200, healthy))]);
    expect(seen.code).toBe(0);
    expect(seen.of("hub")?.says).toContain("9.9.9");
    expect(seen.outcomes).toMatchObject({
      "hub name": "ok",
      "hub connection": "ok",
      "hub protocol": "ok",
      clock: "ok",
    });
    expect(seen.of("node credential")).toMatchObject({ outcome: "skipped" });
  });

  test.each([
    ["older", { protocol: PROTOCOL_VERSION - 1, oldestProtocol: 0 }, "Upgrade the hub."],
    ["newer", { protocol: PROTOCOL_VERSION + 2, oldestProtocol: PROTOCOL_VERSION + 1 }, "Upgrade the worker."],
  ])("that speaks an %s protocol says which side to upgrade", async (_title, versions, fix) => {
    const seen = await doctor(["--hub", await serve(answering(200, { ...healthy, ...versions }))]);
    expect(seen.code).toBe(FAULTS.PROTOCOL_MISMATCH.exit);
    expect(seen.of("hub protocol")).toMatchObject({ outcome: "failed", fix });
  });

  test("that does not say its protocol is no failure", async () => {
    const seen = await doctor(["--hub", await serve(answering(200, { ok: true, version: "0.0.1" }))]);
    expect(seen).toMatchObject({ code: 0, outcomes: { "hub protocol": "skipped" } });
  });

  test("tells another service at that address, and a proxy whose hub is away, apart", async () => {
    const other = await doctor(["--hub", await serve(answering(200, { hello: "world" }))]);
    expect(other.of("hub")?.fault?.code).toBe("HUB_NOT_TIDEMARK");
    expect(other.code).toBe(FAULTS.HUB_NOT_TIDEMARK.exit);
    server?.close();
    const away = await doctor(["--hub", await serve(answering(502, "bad gateway"))]);
    expect(away.of("hub")?.fault?.code).toBe("HUB_UNREACHABLE");
    expect(away.code).toBe(FAULTS.HUB_UNREACHABLE.exit);
  });

  test("that nobody listens at, and one over plain http elsewhere, are told", async () => {
    const away = await doctor(["--hub", "http://127.0.0.1:9"]);
    expect(away.of("hub connection")?.outcome).toBe("failed");
    expect(away.code).toBe(FAULTS.LINK_DOWN.exit);
    const plain = await doctor(["--hub", "http://hub.example.com"]);
    expect(plain.of("hub")?.fault?.code).toBe("HUB_PLAIN_HTTP");
    expect(plain.code).toBe(FAULTS.HUB_PLAIN_HTTP.exit);
  });

  test("is not called a store when it does not answer, and keys beside it name none", async () => {
    const away = await doctor(["--hub", "http://127.0.0.1:9"], { AWS_ACCESS_KEY_ID: "AKIA" });
    expect(away.of("hub connection")?.says).toContain("The connection to the hub was lost");
    expect(away.of("store")?.outcome).toBe("skipped");
    expect(away.outcomes).not.toHaveProperty("store name");
    const left = away.findings.filter(({ outcome, fix }) => outcome !== "ok" && fix === null);
    expect(left).toEqual([]);
  });

  test("says that a join token was cut, without asking the hub for it", async () => {
    const seen = await doctor(["--hub", await serve(answering(200, healthy)), "--token", "x"]);
    expect(seen.of("node credential")).toMatchObject({ outcome: "failed", fault: { code: "BAD_INPUT" } });
    expect(seen.of("node credential")?.says).toContain("this one has 1");
  });

  test("keeps a join token for the worker", async () => {
    const asked: string[] = [];
    const hub = await serve((request, response) => {
      asked.push(request.url ?? "");
      answering(200, healthy)(request, response);
    });
    const seen = await doctor(["--hub", hub, "--token", "a-join-token-of-the-hub"]);
    expect(seen.of("node credential")?.says).toContain("use it up");
    expect(asked.filter((path) => path.includes("trpc"))).toEqual([]);
  });

  test("does not send the credential of one hub to another", async () => {
    await storeCredential(state, { hub: "https://hub.example.com", nodeId: "n", name: "gpu-1", credential: "secret" });
    const seen = await doctor(["--hub", await serve(answering(200, healthy))]);
    expect(seen.of("node credential")).toMatchObject({ outcome: "skipped" });
    expect(seen.of("node credential")?.says).toContain("https://hub.example.com");
  });
});
