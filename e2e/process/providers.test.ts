import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROVIDERS } from "#protocol/base/provider-names.ts";
import { checkStore } from "#storage/profile-test/check-store.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { startProcess } from "../stage/start-process.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { testedWorker } from "../stage/start-worker.ts";

/**
 * The worker program against a store that is as strict as each provider: told which provider it is, and told nothing but
 * the endpoint. The store writes down what it was sent, and nothing may be in it that any store refuses.
 */

const MIB = 1024 * 1024;
const CONTROL = "providers-control-token";
const CONNECTIONS = 3;
/** Two parts where a store wants parts of 64 MiB. */
const huge = randomBytes(66 * MIB + 77);
/** Seven parts of 5 MiB. */
const large = huge.subarray(0, 31 * MIB + 77);
const small = randomBytes(12 * MIB + 1);

const seen = z.object({
  requests: z.array(
    z.object({
      operation: z.string(),
      key: z.string(),
      partNumber: z.number().optional(),
      status: z.number(),
      connection: z.number(),
      headerNames: z.array(z.string()),
      risky: z.array(z.string()),
    }),
  ),
});
type Seen = z.infer<typeof seen>["requests"][number];

async function seenBy(store: RunningStore): Promise<Seen[]> {
  const answer = await fetch(`${store.endpoint}/_control/log`, { headers: { authorization: `Bearer ${CONTROL}` } });
  return seen.parse(await answer.json()).requests;
}

const isStored = (one: Seen): boolean => one.operation === "UploadPart" && one.status === 200;
const carries = (one: Seen): string[] =>
  ["x-amz-checksum-crc32", "content-md5"].filter((name) => one.headerNames.includes(name));
const isRead = (one: Seen): boolean => one.operation === "GetObject" && one.status === 206;

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-providers-"));
  writeFileSync(join(dir, "huge.bin"), huge);
  writeFileSync(join(dir, "large.bin"), large);
  writeFileSync(join(dir, "small.bin"), small);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const openStore = (name: string, quirks: string): Promise<RunningStore> =>
  startStore({ dataDir: join(dir, `store-${name}`), control: CONTROL, flags: ["--no-fsync", "--quirks", quirks] });

function cp(store: RunningStore, args: readonly string[]) {
  const state = join(dir, `state-${store.port}`);
  mkdirSync(state, { recursive: true });
  const steady = ["--state", state, "--part-size", "5MiB", "--concurrency", String(CONNECTIONS)];
  return startProcess({
    title: "cp",
    entry: testedWorker(),
    args: ["cp", ...steady, ...args],
    env: keysInEnv(store),
  });
}

async function cpToTheEnd(store: RunningStore, args: readonly string[]): Promise<void> {
  const running = await cp(store, args);
  const { code } = await running.exited;
  expect([code, code === 0 ? "" : running.lines.join("\n")]).toEqual([0, ""]);
}

interface Killed {
  args: readonly string[];
  /** A request that gets no answer, so that the copy cannot end before it is killed. */
  held: object;
  until: (one: Seen) => boolean;
  count: number;
}

/** Starts a copy, kills it once `count` requests of this kind were answered, and runs it again to its end. */
async function cpKilledOnce(store: RunningStore, given: Killed): Promise<void> {
  const before = (await seenBy(store)).filter(given.until).length;
  await armFault(store, given.held);
  const first = await cp(store, given.args);
  await waitUntil(
    "the copy is under way",
    async () => (await seenBy(store)).filter(given.until).length >= before + given.count,
    { everyMs: 30 },
  );
  const { signal } = await first.stop("SIGKILL");
  expect(signal).toBe("SIGKILL");
  await clearFaults(store);
  await cpToTheEnd(store, given.args);
}

/** No request of any client carried what some store refuses, and connections were kept. */
function expectCareful(requests: readonly Seen[]): void {
  expect(requests.filter((one) => one.risky.length > 0)).toEqual([]);
  const bare = requests.filter((one) => isStored(one) && !one.headerNames.includes("content-length"));
  expect(bare).toEqual([]);
  // Every byte that was taken came with something to compare it with. (The profile test also sends parts as an SDK does.)
  const copied = requests.filter((one) => isStored(one) && !one.key.startsWith("tidemark-check/"));
  expect(copied.filter((one) => carries(one).length !== 1)).toEqual([]);
}

describe.each(PROVIDERS)("a store as strict as %s", (provider) => {
  const quirks = provider === "other" ? "strictest" : provider;
  let store: RunningStore;
  beforeAll(async () => {
    store = await openStore(provider, quirks);
  });
  afterAll(() => store.stop());

  test("is copied to by name, over a kill, and from knowing only its address, over another", async () => {
    const named = ["--provider", provider];
    const partBytes = Math.max(5 * MIB, PRESETS[provider].traits.minPartBytes);
    const [file, bytes] = partBytes < 16 * MIB ? (["large.bin", large] as const) : (["huge.bin", huge] as const);
    const address = `s3://${store.bucket}/${file}`;
    const target = join(dir, `${provider}-${file}`);
    const partCount = Math.ceil(bytes.length / partBytes);
    await cpKilledOnce(store, {
      args: [...named, join(dir, file), address],
      held: { op: "UploadPart", partNumber: partCount, action: { kind: "stall", side: "request" } },
      until: isStored,
      count: Math.min(2, partCount - 1),
    });
    const parts = (await seenBy(store)).filter(isStored);
    expect(new Set(parts.map((one) => one.partNumber)).size).toBe(partCount);
    expect(parts.length).toBeLessThanOrEqual(partCount + CONNECTIONS);
    if (provider !== "other") {
      const { checksum } = PRESETS[provider].traits;
      const name = checksum === "crc32" ? "x-amz-checksum-crc32" : "content-md5";
      expect(new Set(parts.flatMap(carries))).toEqual(new Set([name]));
    }
    expect(new Set(parts.map((one) => one.connection)).size).toBeLessThanOrEqual(2 * (CONNECTIONS + 3));
    const held = { op: "GetObject", attempt: 4, action: { kind: "stall", side: "response" } };
    await cpKilledOnce(store, { args: [address, target], held, until: isRead, count: 2 });
    expect(readFileSync(target).equals(bytes)).toBe(true);
    rmSync(target);
    expectCareful(await seenBy(store));
  });

  test("is copied to knowing only its address, and from by name", async () => {
    const address = `s3://${store.bucket}/small.bin`;
    const target = join(dir, `small-${provider}.bin`);
    await cpToTheEnd(store, [join(dir, "small.bin"), address]);
    await cpToTheEnd(store, ["--provider", provider, address, target]);
    expect(readFileSync(target).equals(small)).toBe(true);
    rmSync(target);
    expectCareful(await seenBy(store));
  });

  test("passes the profile test with its own traits, all that uploading and restoring need", async () => {
    const { traits } = PRESETS[provider];
    const credential = { accessKeyId: store.accessKey, secretAccessKey: store.secretKey };
    const access = {
      endpoint: store.endpoint,
      region: "us-east-1",
      bucket: store.bucket,
      addressing: "path",
      traits,
    } as const;
    const client = createControlClient({ access, credential });
    let found: string | null = null;
    try {
      const source = createDirectSource({ access, credential });
      const result = await checkStore({ client, access, source, fetch, prefix: "" });
      expect(result.checks.filter((check) => check.outcome === "failed" || check.outcome === "refused")).toEqual([]);
      expect(result.ok).toBe(true);
      found = result.found.checksum;
    } finally {
      client.destroy();
    }
    const requests = await seenBy(store);
    expectCareful(requests);
    // What nobody knows is found out, as nodes do.
    const wanted = traits.probeChecksum ? "md5" : traits.checksum;
    expect(found).toBe(wanted);
    const stored = requests.filter((one) => one.operation === "PutObject" && one.status === 200);
    const sums = stored.flatMap((one) => one.headerNames);
    expect(sums.includes("content-md5")).toBe(wanted === "md5");
    expect(sums.includes("x-amz-checksum-crc32")).toBe(wanted === "crc32");
  });
});

test("a store that lets connections go after a second, without a word, costs no copy", async () => {
  const store = await openStore("impatient", "keep-alive-ms=1000,hide-keep-alive,no-continue");
  try {
    const address = `s3://${store.bucket}/small.bin`;
    const target = join(dir, "small-impatient.bin");
    // So slow that connections lie idle between the parts.
    await cpToTheEnd(store, ["--limit-up", "4MB", join(dir, "small.bin"), address]);
    await cpToTheEnd(store, [address, target]);
    expect(readFileSync(target).equals(small)).toBe(true);
    expectCareful(await seenBy(store));
  } finally {
    await store.stop();
  }
});

describe("a store of which nobody knows anything", () => {
  const upload = (one: Seen) => ["CreateMultipartUpload", "UploadPart", "PutObject"].includes(one.operation);

  test.each([
    ["refuses checksums by name", "reject-checksums=argument"],
    ["does not know such a header", "reject-checksums=not-implemented"],
    ["finds the signature spoilt by them", "reject-checksums=signature"],
    ["overlooks them", "ignore-checksums"],
  ])("that %s is asked once, and the next copy sends MD5s from its first part on", async (_, quirks) => {
    const store = await openStore(`unknown-${quirks.replaceAll("=", "-")}`, quirks);
    try {
      await cpToTheEnd(store, [join(dir, "large.bin"), `s3://${store.bucket}/first.bin`]);
      const first = await seenBy(store);
      expectCareful(first);
      expect(first.filter(isStored).flatMap(carries)).toContain("content-md5");
      await cpToTheEnd(store, [join(dir, "small.bin"), `s3://${store.bucket}/second.bin`]);
      const second = (await seenBy(store)).slice(first.length).filter(upload);
      expect(second.filter((one) => one.status >= 400)).toEqual([]);
      expect(new Set(second.filter(isStored).flatMap(carries))).toEqual(new Set(["content-md5"]));
      const target = join(dir, "second-back.bin");
      await cpToTheEnd(store, [`s3://${store.bucket}/second.bin`, target]);
      expect(readFileSync(target).equals(small)).toBe(true);
      rmSync(target);
    } finally {
      await store.stop();
    }
  });

  test("that takes neither checksum is sent the bytes alone, and that is said", async () => {
    const store = await openStore("neither", "reject-checksums,reject-md5");
    try {
      const running = await cp(store, [join(dir, "small.bin"), `s3://${store.bucket}/small.bin`]);
      expect((await running.exited).code).toBe(0);
      expect(running.lines.join("\n")).toContain("takes no checksums");
    } finally {
      await store.stop();
    }
  });
});

test("a bucket in another region than the given one is found there, both ways", async () => {
  const store = await openStore("region", "region=eu-west-9");
  try {
    const address = `s3://${store.bucket}/small.bin`;
    const target = join(dir, "small-region.bin");
    await cpToTheEnd(store, [join(dir, "small.bin"), address]);
    await cpToTheEnd(store, [address, target]);
    expect(readFileSync(target).equals(small)).toBe(true);
    await cpToTheEnd(store, ["--region", "eu-west-9", address, target]);
  } finally {
    await store.stop();
  }
});
