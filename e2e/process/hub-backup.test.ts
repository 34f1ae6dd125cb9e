import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { createRandom } from "../faults/random.ts";
import { createHubClient, signIn } from "../stage/hub-client.ts";
import { ADMIN, openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { startHub, testedHub, testedUpkeep } from "../stage/start-hub.ts";
import { readCounters } from "../stage/store-control.ts";
import { startProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Backups, restores and rebuilds with the real programs, killed where it hurts. */

const SECRET = "a secret of the stage with more than 32 letters";
const MAIN = testedUpkeep();
const run = runName.parse("kept");
const KIB = 1024;
let stage: Stage;
let data: string;
beforeAll(async () => {
  stage = await openStage({ hub: { env: { TIDEMARK_SECRET: SECRET } } });
  data = join(stage.dir, "hub");
});
afterAll(() => stage.close());

let step = 0;
const write = () => {
  step += 10;
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step, modelBytes: 256 * KIB, optimizerBytes: 0, loss: 1 });
};

const hub = (args: string[], env: Record<string, string> = { TIDEMARK_SECRET: SECRET }) =>
  runOnce(MAIN, [...args, "--data", data], { env });
const stepsOf = async (client = stage.client) =>
  (await client.runs.get.query({ run })).checkpoints.filter((one) => one.state === "complete").map((one) => one.step);

interface BackupLine {
  file: string;
}

async function backUp(to: string): Promise<string> {
  const made = await hub(["backup", "--to", to, "--json"], {});
  expect(made).toMatchObject({ code: 0, stderr: "" });
  return (JSON.parse(made.stdout) as BackupLine).file;
}

test("backups taken under load each restore to a working hub, whose buckets open once it has the key", async () => {
  await stage.startNode({ name: "gpu-1", run, flags: ["--settle", "100ms"] });
  write();
  await waitUntil("the first is safe", async () => (await stepsOf()).includes(10));
  const backups: { file: string; safeBefore: number }[] = [];
  for (let count = 0; count < 3; count++) {
    const safeBefore = Math.max(...(await stepsOf()));
    write();
    write();
    backups.push({ file: await backUp(join(stage.dir, "backups")), safeBefore });
  }
  // Of several that wait the newest is taken.
  await waitUntil("the last is safe", async () => (await stepsOf()).includes(step));
  const known = await stepsOf();
  expect((await stage.client.upkeep.status.query()).lastBackup?.file).toBe(backups.at(-1)?.file);

  for (const [index, { file, safeBefore }] of backups.entries()) {
    const folderOf = join(stage.dir, `restored-${index}`);
    const restored = await runOnce(MAIN, ["restore", file, "--data", folderOf]);
    expect(restored).toMatchObject({ code: 0 });
    expect(restored.stdout).toContain("No bucket opens with it yet");
    const without = await runOnce(testedHub(), [], {
      env: { TIDEMARK_DATA: folderOf, TIDEMARK_PORT: "0", TIDEMARK_NO_UI: "1" },
    });
    expect(without.code).toBe(4);
    expect(without.stderr).toContain("there is no master key");
    const again = await startHub({ dataDir: folderOf, env: { TIDEMARK_SECRET: SECRET } });
    const client = createHubClient(again.url, await signIn(again.url, ADMIN));
    const [profile] = await client.profiles.list.query();
    const tried = await client.profiles.test.mutate({ id: profile?.id ?? "", profile: null, credential: null });
    expect(tried.ok).toBe(true);
    expect(Math.max(...(await stepsOf(client)))).toBeGreaterThanOrEqual(safeBefore);
    // The hub reads by itself what came after the backup.
    await waitUntil("the bucket was read", async () => (await stepsOf(client)).join() === known.join());
    await waitUntil("it says so", async () => (await client.upkeep.status.query()).doubt?.listedAt);
    expect((await client.upkeep.status.query()).mayDelete).toBe(false);
    await again.stop();
  }
});

test("the clock takes backups and keeps the newest", async () => {
  const folder = join(stage.dir, "by-the-clock");
  const env = { TIDEMARK_SECRET: SECRET, TIDEMARK_BACKUP_EVERY: "1s", TIDEMARK_BACKUP_KEEP: "2" };
  const own = await startHub({ dataDir: folder, admin: ADMIN, env });
  const namesOf = () => {
    const backups = join(folder, "backups");
    return existsSync(backups) ? readdirSync(backups).filter((name) => name.endsWith(".db.gz")) : [];
  };
  const first = await waitUntil("the first backup", () => namesOf().length > 0 && namesOf());
  const isReplaced = () => namesOf().length === 2 && !namesOf().includes(first[0] ?? "");
  await waitUntil("two later ones are in its place", isReplaced);
  const client = createHubClient(own.url, await signIn(own.url, ADMIN));
  expect((await client.upkeep.status.query()).lastBackup).toMatchObject({ fault: null });
  await own.stop();
});

test("a restore is refused while the hub runs, and nodes go on where they were after one", async () => {
  const file = await backUp(join(stage.dir, "backups"));
  const refused = await hub(["restore", file]);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain("Another Tidemark process is using this folder");
  write();
  await waitUntil("it is safe", async () => (await stepsOf()).includes(step));
  await stage.hub.stop();
  expect((await hub(["restore", file])).code).toBe(0);
  await stage.startHubAgain();
  stage.client = createHubClient(stage.hub.url, await signIn(stage.hub.url, ADMIN));
  await waitUntil("what came after the backup is known again", async () => (await stepsOf()).includes(step));
  // The worker was never stopped: it goes on with its credential and its epoch.
  write();
  await waitUntil("the next one is safe", async () => (await stepsOf()).includes(step));
});

test("an upload that the restored hub knows nothing of is announced again and goes on with the parts it has", async () => {
  const moving = runName.parse("moving");
  await stage.startNode({ name: "gpu-2", run: moving, flags: ["--limit-up", "3MB", "--part-size", "5MiB"] });
  const folder = stage.folderOf("gpu-2");
  const isSafe = (wanted: number) => async () =>
    (await stage.client.runs.get.query({ run: moving })).checkpoints.some(
      (one) => one.step === wanted && one.state === "complete",
    );
  writeCheckpoint({ folder, step: 10, modelBytes: KIB, optimizerBytes: 0, loss: 1 });
  await waitUntil("the first is safe", isSafe(10));
  const file = await backUp(join(stage.dir, "backups"));
  writeCheckpoint({ folder, step: 20, modelBytes: 24 * KIB * KIB, optimizerBytes: 0, loss: 1 });
  const parts = async () =>
    (await readCounters(stage.store, "UploadPart")).targets.filter((one) => one.key.includes("/moving/"));
  await waitUntil("parts are stored", async () => (await parts()).filter((one) => one.succeeded > 0).length >= 1);
  await stage.hub.stop();
  expect((await hub(["restore", file])).code).toBe(0);
  await stage.startHubAgain();
  stage.client = createHubClient(stage.hub.url, await signIn(stage.hub.url, ADMIN));
  await waitUntil("it is safe all the same", isSafe(20));
  expect((await parts()).filter((one) => one.succeeded > 1)).toEqual([]);
});

test("kill -9 during backups and restores leaves whole files and a hub that starts", async () => {
  const random = createRandom(7);
  const to = join(stage.dir, "killed-backups");
  mkdirSync(to);
  const kill = async (args: string[], latestMs: number) => {
    const running = await startProcess({ title: "hub command", entry: MAIN, args: [...args, "--data", data] });
    const until = performance.now() + random.next() * latestMs;
    await waitUntil("the moment of the kill", () => performance.now() >= until, { everyMs: 5 });
    await running.stop("SIGKILL");
  };
  for (let count = 0; count < 6; count++) await kill(["backup", "--to", to, "--gzip"], 900);
  const file = await backUp(to);
  const whole = readdirSync(to).filter((name) => name.startsWith("tidemark-hub-"));
  expect(whole.length).toBeGreaterThanOrEqual(1);
  await stage.hub.stop();
  for (const name of whole) {
    const folder = join(stage.dir, `from-${name}`);
    expect((await runOnce(MAIN, ["restore", join(to, name), "--data", folder])).code).toBe(0);
    rmSync(folder, { recursive: true });
  }
  for (let count = 0; count < 6; count++) {
    await kill(["restore", file], 1_000);
    expect(statSync(join(data, "hub.db")).size).toBeGreaterThan(100_000);
  }
  await stage.startHubAgain();
  stage.client = createHubClient(stage.hub.url, await signIn(stage.hub.url, ADMIN));
  const steps = await waitUntil("its runs are there", async () => {
    const found = await stepsOf();
    return found.length > 0 && found;
  });
  expect(Math.max(...steps)).toBeGreaterThanOrEqual(10);
});

test("with the database lost, the bucket gives everything back: a new node restores the newest bytes", async () => {
  const newest = Math.max(...(await stepsOf()));
  const original = hashFolder(join(stage.folderOf("gpu-1"), `checkpoint-${newest}`));
  const known = await stepsOf();
  const knownOfAll = (await stage.client.runs.list.query()).reduce((sum, { complete }) => sum + complete, 0);
  await stage.hub.stop();
  for (const name of readdirSync(data)) if (name.startsWith("hub.db")) rmSync(join(data, name));
  const { store } = stage;
  const line = ["rebuild", "--name", "found again", "--provider", "minio", "--endpoint", store.endpoint];
  const rebuilt = await hub([...line, "--bucket", store.bucket, "--json"], {
    TIDEMARK_SECRET: SECRET,
    AWS_ACCESS_KEY_ID: store.accessKey,
    AWS_SECRET_ACCESS_KEY: store.secretKey,
  });
  expect(rebuilt).toMatchObject({ code: 0 });
  expect(JSON.parse(rebuilt.stdout)).toMatchObject({ runs: 2, checkpoints: knownOfAll, refused: 0 });
  await stage.startHubAgain();
  const client = createHubClient(stage.hub.url, await signIn(stage.hub.url, ADMIN));
  expect(await stepsOf(client)).toEqual(known);
  const [profile] = await client.profiles.list.query();
  const { token } = await client.tokens.create.mutate({
    label: "",
    profileId: profile?.id ?? "",
    maxUses: 5,
    validMs: 3_600_000,
  });
  const show = ["-c", `echo "resumes from $TIDEMARK_RESUME_PATH"`];
  const worker = await stage.startNode({ name: "gpu-9", run, token, program: ["/bin/sh", ...show] });
  expect(await worker.exited).toMatchObject({ code: 0 });
  const path = /resumes from (\S+)/.exec(worker.lines.join("\n"))?.[1] ?? "";
  expect(existsSync(path)).toBe(true);
  expect(hashFolder(path)).toEqual(original);
  const { epochs } = await client.runs.get.query({ run });
  expect(epochs[0]?.epoch).toBeGreaterThan(1_000);
  expect((await client.upkeep.status.query()).mayDelete).toBe(false);
  expect((await hub(["confirm"])).stdout).toContain("Deletions are allowed again");
  expect((await client.upkeep.status.query()).mayDelete).toBe(true);
});
