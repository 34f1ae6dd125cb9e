import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { openStage } from "../stage/open-stage.ts";
import { addProfile, addToken } from "../stage/provision.ts";
import { runOnce } from "../stage/run-once.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** `--encrypt-key`: checkpoints are encrypted and decrypted without a hub, and a hub can take them over. */

const said = (worker: { lines: readonly string[] }): string => worker.lines.join("\n");
const write = (folder: string, step: number): string =>
  writeCheckpoint({ folder, step, modelBytes: 1_000_000, optimizerBytes: 1_000_000, loss: 1 });
const TELL = `console.log("from " + process.env.TIDEMARK_RESUME_STEP + " at " + process.env.TIDEMARK_RESUME_PATH)`;

const textsInStore = ({ dir }: Alone): string[] => {
  const entries = readdirSync(join(dir, "store"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
};

describe("with a key file", () => {
  let alone: Alone;
  let key: string;
  let other: string;
  const written = new Map<number, string>();
  const at = { run: "secret", prefix: "sealed" };
  const asked = (...args: string[]) =>
    runOnce(testedWorker(), args, { env: { ...keysInEnv(alone.store), TIDEMARK_STATE: join(alone.dir, "laptop") } });
  const restore = (what: string, name: string, ...flags: string[]) =>
    asked("restore", what, join(alone.dir, name), "--to", `s3://${alone.store.bucket}/sealed`, ...flags);
  const checkpoints = async () => {
    const { stdout } = await asked("runs", "--to", `s3://${alone.store.bucket}/sealed`, "--json");
    const { runs } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { runs: { checkpoints: number }[] };
    return runs.map((one) => one.checkpoints);
  };
  beforeAll(async () => {
    alone = await openAlone();
    mkdirSync(join(alone.dir, "keys"));
    key = join(alone.dir, "keys", "own");
    other = join(alone.dir, "keys", "other");
    for (const path of [key, other]) expect(await asked("keygen", path)).toMatchObject({ code: 0 });
    for (const step of [10, 20]) {
      written.set(step, write(folderOf(alone, "trainer"), step));
      const flags = ["--encrypt-key", key, "--encrypt-names"];
      const node = await startAlone(alone, { ...at, name: "trainer", program: TELL, flags });
      expect(await node.exited, said(node)).toMatchObject({ code: 0 });
    }
  });
  afterAll(() => closeAlone(alone));
  const hashOf = (step: number) => hashFolder(written.get(step) ?? "");

  test("another machine goes on from it byte for byte", async () => {
    const next = await startAlone(alone, { ...at, name: "next", program: TELL, flags: ["--encrypt-key", key] });
    expect(await next.exited).toMatchObject({ code: 0 });
    expect(said(next)).toContain(`from 20 at ${join(folderOf(alone, "next"), "checkpoint-20")}`);
    expect(hashFolder(join(folderOf(alone, "next"), "checkpoint-20"))).toEqual(hashOf(20));
    expect(await restore("secret@10", "out-10", "--encrypt-key", key)).toMatchObject({ code: 0 });
    expect(hashFolder(join(alone.dir, "out-10"))).toEqual(hashOf(10));
  });

  test("without the key, or with another, a restore says which key it needs and leaves nothing", async () => {
    const keyId = readFileSync(key, "utf8").split(".")[1] ?? "";
    const without = await restore("secret", "out-none");
    expect(without).toMatchObject({ code: 4, stderr: expect.stringContaining("--encrypt-key FILE") as string });
    expect(without.stderr).toContain(`it needs the key ${keyId}`);
    const wrong = await restore("secret", "out-none", "--encrypt-key", other);
    expect(wrong).toMatchObject({ code: 4, stderr: expect.stringContaining(`is not in ${other}`) as string });
    expect(readdirSync(alone.dir).filter((name) => name.includes("out-none"))).toEqual([]);
  });

  test("a run that is encrypted is not gone on with in plain text, nor without its key", async () => {
    const before = await checkpoints();
    write(folderOf(alone, "stranger"), 30);
    for (const flags of [[], ["--from", "none"], ["--encrypt-key", other]]) {
      const node = await startAlone(alone, { ...at, name: "stranger", program: TELL, flags });
      expect(await node.exited, said(node)).toMatchObject({ code: 4 });
      expect(said(node)).toContain("It is encrypted, and this node does not have its key");
    }
    expect(await checkpoints()).toEqual(before);
  });

  test("a new key in the first line encrypts from then on, and the one below it still decrypts", async () => {
    const both = join(alone.dir, "keys", "both");
    writeFileSync(both, `# new\n${readFileSync(other, "utf8")}\n${readFileSync(key, "utf8")}`, { mode: 0o600 });
    const flags = ["--encrypt-key", both];
    const run = { ...at, name: "rotated", program: TELL, flags };
    const first = await startAlone(alone, run);
    expect(await first.exited).toMatchObject({ code: 0 });
    expect(said(first)).toContain("from 20 at ");
    const path = write(folderOf(alone, "rotated"), 40);
    expect(await (await startAlone(alone, run)).exited).toMatchObject({ code: 0 });
    expect(await restore("secret", "out-40", "--encrypt-key", other)).toMatchObject({ code: 0 });
    expect(hashFolder(join(alone.dir, "out-40"))).toEqual(hashFolder(path));
  });

  test("damage that a node finds is recorded in the bucket without the names of files", async () => {
    await armFault(alone.store, {
      op: "GetObject",
      action: { kind: "flip", side: "response", offset: 100_000 },
    });
    const flags = ["--encrypt-key", join(alone.dir, "keys", "both")];
    const node = await startAlone(alone, { ...at, name: "finder", program: TELL, flags });
    expect(await node.exited, said(node)).not.toMatchObject({ code: 0 });
    await clearFaults(alone.store);
    const texts = textsInStore(alone).filter((text) => text.includes("tidemark.finding"));
    expect(texts.filter((text) => text.includes('"kind":"damaged"'))).not.toEqual([]);
    for (const name of readdirSync(written.get(10) ?? "")) expect(texts.join("\n")).not.toContain(name);
  });

  test("a key is made once, for its owner alone, and one that others may read is refused", async () => {
    expect(statSync(key).mode & 0o777).toBe(0o600);
    const again = await asked("keygen", key);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("never overwritten") as string });
    const loose = join(alone.dir, "keys", "loose");
    writeFileSync(loose, readFileSync(key));
    chmodSync(loose, 0o640);
    const refused = await restore("secret", "out-loose", "--encrypt-key", loose);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("chmod 600") as string });
    writeFileSync(loose, readFileSync(key, "utf8").slice(0, -8));
    chmodSync(loose, 0o600);
    const cut = await restore("secret", "out-loose", "--encrypt-key", loose);
    expect(cut).toMatchObject({ code: 2, stderr: expect.stringContaining("line 1: it was cut") as string });
    const missing = await restore("secret", "out-loose", "--encrypt-key", `${loose}-not`);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("tidemark keygen") as string });
    const hub = await asked("agent", "--hub", "http://127.0.0.1:1", "--watch", alone.dir, "--encrypt-key", key);
    expect(hub).toMatchObject({ code: 2, stderr: expect.stringContaining("under Buckets") as string });
  });
});

test("a hub that takes such a run over says that it lacks the key, and goes on with it once the file's line is imported", async () => {
  const stage = await openStage();
  const alone: Alone = { dir: join(stage.dir, "alone"), store: stage.store, started: [] };
  try {
    mkdirSync(alone.dir);
    const key = join(alone.dir, "key");
    expect(await runOnce(testedWorker(), ["keygen", key])).toMatchObject({ code: 0 });
    const path = write(folderOf(alone, "pioneer"), 5);
    const flags = ["--encrypt-key", key];
    const node = { run: "kept", prefix: "mine", name: "pioneer", program: TELL, flags };
    expect(await (await startAlone(alone, node)).exited).toMatchObject({ code: 0 });

    const profileId = await addProfile(stage.client, { name: "mine", store: stage.store, prefix: "mine/" });
    const token = await addToken(stage.client, { profileId, maxUses: 5 });
    const member = { name: "member", run: "kept", token, program: [process.execPath, "-e", TELL] };
    const refused = await stage.startNode(member);
    await waitUntil("it is told", () => said(refused).includes("this hub does not have the key"));
    await refused.stop();
    const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("kept") });
    expect(checkpoints).toMatchObject([{ step: 5, state: "complete" }]);
    expect(await stage.client.sealing.get.query({ id: profileId })).toMatchObject({ lockedCheckpoints: 1 });

    await stage.client.sealing.importKey.mutate({ profileId, text: readFileSync(key, "utf8") });
    const admitted = await stage.startNode(member);
    expect(await admitted.exited, said(admitted)).toMatchObject({ code: 0 });
    expect(said(admitted)).toContain("from 5 at ");
    expect(hashFolder(join(stage.folderOf("member"), "checkpoint-5"))).toEqual(hashFolder(path));
  } finally {
    await Promise.all(alone.started.map((one) => one.stop()));
    await stage.close();
  }
});
