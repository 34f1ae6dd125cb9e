import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { keysInEnv, remoteInFile } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { addProfile, addToken } from "../stage/provision.ts";
import { runOnce } from "../stage/run-once.ts";
import { startWorker, testedWorker } from "../stage/start-worker.ts";
import { readLog, setClock } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import type { RunningProcess } from "../stage/start-process.ts";

/** `--to`: one node and a bucket, without a hub; and a hub later that finds all of it. */

const said = (worker: { lines: readonly string[] }): string => worker.lines.join("\n");
const write = (folder: string, step: number): string =>
  writeCheckpoint({ folder, step, modelBytes: 1_000_000, optimizerBytes: 1_000_000, loss: 1 });
/** Prints where it goes on from. */
const TELL = `console.log("from " + process.env.TIDEMARK_RESUME_STEP + " at " + process.env.TIDEMARK_RESUME_PATH)`;

const runs = async ({ dir, store }: Alone, prefix: string): Promise<Record<string, unknown>[]> => {
  const args = ["runs", "--to", `s3://${store.bucket}/${prefix}`, "--json"];
  const { code, stdout, stderr } = await runOnce(testedWorker(), args, {
    env: { ...keysInEnv(store), TIDEMARK_STATE: join(dir, "state") },
  });
  if (code !== 0) throw new Error(stderr + stdout);
  const result = JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}") as { runs: Record<string, unknown>[] };
  return result.runs;
};
const stepsIn = async (alone: Alone, prefix: string): Promise<(readonly [unknown, unknown, unknown])[]> =>
  (await runs(alone, prefix)).map(({ run, newestStep, checkpoints }) => [run, newestStep, checkpoints] as const);

describe("alone", () => {
  let alone: Alone;
  beforeAll(async () => {
    alone = await openAlone();
  });
  afterAll(() => closeAlone(alone));

  test("what a program left on one machine is there on the next, byte for byte, without a hub", async () => {
    const at = { run: "llama", prefix: "ckpts" };
    const before = folderOf(alone, "first");
    let first: RunningProcess | null = null;
    for (const step of [10, 20]) {
      write(before, step);
      first = await startAlone(alone, { ...at, name: "first", program: TELL });
      expect(await first.exited).toMatchObject({ code: 0 });
    }
    if (first === null) throw new Error("nothing was started");
    expect(said(first)).toContain(`alone: checkpoints go to s3://${alone.store.bucket}/ckpts`);
    expect(await stepsIn(alone, "ckpts")).toEqual([["llama", 20, 2]]);

    const second = await startAlone(alone, { ...at, name: "second", program: TELL });
    expect(await second.exited).toMatchObject({ code: 0 });
    const after = folderOf(alone, "second");
    expect(said(second)).toContain(`from 20 at ${join(after, "checkpoint-20")}`);
    expect(hashFolder(join(after, "checkpoint-20"))).toEqual(hashFolder(join(before, "checkpoint-20")));
  });

  test("a second writer is told who writes, takes over when the lease has ended, and shuts the first out", async () => {
    const at = { run: "two", prefix: "leased" };
    const own = folderOf(alone, "owner");
    const owner = await startAlone(alone, { ...at, name: "owner" });
    write(own, 5);
    await waitUntil("step 5 is complete", async () => (await stepsIn(alone, "leased")).length === 1);
    const heir = await startAlone(alone, { ...at, name: "heir", program: TELL });
    await waitUntil("it is told who writes", () => said(heir).includes("owner writes it"));
    process.kill(owner.pid, "SIGSTOP");
    await setClock(alone.store, 120_000);
    expect(await heir.exited).toMatchObject({ code: 0 });
    expect(said(heir)).toContain("from 5 at ");
    process.kill(owner.pid, "SIGCONT");
    write(own, 6);
    await waitUntil("it is told that it is over", () => said(owner).includes("heir writes it now"));
    await owner.stop();
    expect(await stepsIn(alone, "leased")).toEqual([["two", 5, 1]]);
    await setClock(alone.store, 0);
  });

  test("status says once what a hub would add when another node writes below the same prefix", async () => {
    const prefix = "shared";
    const state = (name: string) => join(alone.dir, "nodes", name, "state");
    const status = (...args: string[]) => runOnce(testedWorker(), ["status", ...args], { env: keysInEnv(alone.store) });
    const writers = ["left", "right"];
    const nodes: RunningProcess[] = [];
    for (const name of writers) {
      write(folderOf(alone, name), 5);
      nodes.push(await startAlone(alone, { run: `run-of-${name}`, prefix, name }));
      await waitUntil(`${name} is safe`, async () => (await stepsIn(alone, prefix)).length === nodes.length);
    }
    const own = () => status("--state", state("right"));
    const first = await own();
    expect(first.stdout).toContain(
      `Below s3://${alone.store.bucket}/shared other nodes write too: left (run-of-left).`,
    );
    expect(first.stdout).toContain("A hub would add");
    expect((await own()).stdout).not.toContain("A hub would add");
    const laptop = ["--to", `s3://${alone.store.bucket}/shared`, "--state", state("laptop")];
    expect((await status(...laptop)).stdout).toContain("A hub would add");
    expect((await status(...laptop)).stdout).not.toContain("A hub would add");
    await Promise.all(nodes.map((node) => node.stop()));
    const alonePlace = ["--to", `s3://${alone.store.bucket}/ckpts`, "--state", state("laptop")];
    expect((await status(...alonePlace)).stdout).not.toContain("A hub would add");
  });

  test("the place may be a remote of rclone", async () => {
    const env = remoteInFile(alone.dir, alone.store);
    const place = `rclone:lab:${alone.store.bucket}/ckpts`;
    const state = join(alone.dir, "by-remote");
    const node = {
      hubUrl: null,
      name: "by-remote",
      run: "llama",
      stateDir: state,
      watch: folderOf(alone, "by-remote"),
    };
    const program = [process.execPath, "-e", TELL];
    const started = await startWorker({ ...node, env, flags: ["--to", place], program });
    expect(await started.exited).toMatchObject({ code: 0 });
    expect(said(started)).toContain("from 20 at ");
    const listed = await runOnce(testedWorker(), ["runs", "--to", place], { env: { ...env, TIDEMARK_STATE: state } });
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("llama: step 20") as string });
  });

  test("an object that is gone is no part of a checkpoint that is gone on from", async () => {
    const at = { run: "torn", prefix: "torn" };
    for (const step of [1, 2]) {
      write(folderOf(alone, "whole"), step);
      const first = await startAlone(alone, { ...at, name: "whole", program: TELL });
      expect(await first.exited).toMatchObject({ code: 0 });
    }
    const data = (await readLog(alone.store)).filter(({ key }) => key.startsWith("torn/runs/"));
    const ofNewest = data.map(({ key }) => key).filter((key) => key.endsWith("model.safetensors"));
    const [last] = [...new Set(ofNewest)].toReversed();
    const place = `s3://${alone.store.bucket}/${last ?? ""}`;
    const removed = await runOnce(testedWorker(), ["rm", place], { env: keysInEnv(alone.store) });
    expect(removed).toMatchObject({ code: 0 });
    const next = await startAlone(alone, { ...at, name: "next", program: TELL });
    expect(await next.exited).toMatchObject({ code: 0 });
    expect(said(next)).toContain("from 1 at ");
    expect(readdirSync(folderOf(alone, "next")).filter((name) => !name.startsWith("."))).toHaveLength(1);
  });

  test("an address that is none, both ways at once, and neither are refused with what to do", async () => {
    const watch = ["--watch", folderOf(alone, "bad")];
    const asked = (...args: string[]) =>
      runOnce(testedWorker(), ["agent", ...watch, ...args], { env: keysInEnv(alone.store) });
    const [none, both, local] = await Promise.all([
      asked(),
      asked("--to", "s3://b/p", "--hub", "http://127.0.0.1:1"),
      asked("--to", "/somewhere"),
    ]);
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--to s3://bucket/prefix, or --hub URL") as string,
    });
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("--hub is given too") as string });
    expect(local).toMatchObject({ code: 2, stderr: expect.stringContaining("s3://bucket/prefix") as string });
  });
});

test("without conditional writes it says so, and the later writer's epoch counts", async () => {
  const alone = await openAlone(["--quirks", "ignore-conditions"]);
  try {
    const at = { run: "loose", prefix: "loose" };
    write(folderOf(alone, "one"), 3);
    const first = await startAlone(alone, { ...at, name: "one", program: TELL });
    expect(await first.exited).toMatchObject({ code: 0 });
    expect(said(first)).toContain("does not keep to conditional writes");
    const second = await startAlone(alone, { ...at, name: "other", program: TELL });
    expect(await second.exited).toMatchObject({ code: 0 });
    expect(said(second)).toContain("from 3 at ");
  } finally {
    await closeAlone(alone);
  }
});

describe("a hub later", () => {
  let stage: Stage;
  let alone: Alone;
  beforeAll(async () => {
    stage = await openStage();
    alone = { dir: join(stage.dir, "alone"), store: stage.store, started: [] };
  });
  afterAll(async () => {
    await Promise.all(alone.started.map((one) => one.stop()));
    await stage.close();
  });

  test("takes the run over with all its checkpoints, keeps nodes that work alone away, and may be lost again", async () => {
    const at = { run: "grows", prefix: "mine" };
    for (const step of [1, 2]) {
      write(folderOf(alone, "pioneer"), step);
      const pioneer = await startAlone(alone, { ...at, name: "pioneer", program: TELL });
      expect(await pioneer.exited).toMatchObject({ code: 0 });
    }

    const profileId = await addProfile(stage.client, { name: "mine", store: stage.store, prefix: "mine/" });
    const before = (await readLog(stage.store)).length;
    const taken = await stage.client.adoptions.takeRuns.mutate({ id: profileId });
    expect(taken).toMatchObject({ isRunning: false, writing: [], found: { runs: 1, checkpoints: 2, refused: 0 } });
    const ofData = (await readLog(stage.store)).slice(before).filter(({ key }) => key.startsWith("mine/runs/"));
    expect(ofData).toEqual([]);
    const known = await stage.client.runs.get.query({ run: runName.parse("grows") });
    expect(known.checkpoints.map(({ state }) => state)).toEqual(["complete", "complete"]);
    const repeated = await stage.client.adoptions.takeRuns.mutate({ id: profileId });
    expect(repeated).toMatchObject({ found: { checkpoints: 0, refused: 0 } });
    const token = await addToken(stage.client, { profileId, maxUses: 5 });
    const member = await stage.startNode({
      name: "member",
      run: "grows",
      token,
      program: [process.execPath, "-e", TELL],
    });
    expect(await member.exited).toMatchObject({ code: 0 });
    expect(said(member)).toContain("from 2 at ");
    const complete = async () => {
      const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("grows") });
      return checkpoints.filter(({ state }) => state === "complete").map(({ step }) => step);
    };
    expect((await complete()).toSorted((a, b) => a - b)).toEqual([1, 2]);
    write(stage.folderOf("member"), 3);
    const again = await stage.startNode({
      name: "member",
      run: "grows",
      token,
      program: [process.execPath, "-e", TELL],
    });
    expect(await again.exited).toMatchObject({ code: 0 });
    expect((await complete()).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);

    const refused = await startAlone(alone, { ...at, name: "stray", program: TELL });
    expect(await refused.exited).toMatchObject({ code: 4 });
    expect(said(refused)).toContain("A hub keeps checkpoints under this prefix");
    const mark = `s3://${stage.store.bucket}/mine/_tidemark/hub.json`;
    expect(said(refused)).toContain(`tidemark rm ${mark}`);
    await stage.killHub();
    const removed = await runOnce(testedWorker(), ["rm", mark], { env: keysInEnv(stage.store) });
    expect(removed).toMatchObject({ code: 0 });
    const last = await startAlone(alone, { ...at, name: "stray", program: TELL });
    expect(await last.exited).toMatchObject({ code: 0 });
    expect(said(last)).toContain("from 3 at ");
    expect(hashFolder(join(folderOf(alone, "stray"), "checkpoint-3"))).toEqual(
      hashFolder(join(stage.folderOf("member"), "checkpoint-3")),
    );
    write(folderOf(alone, "stray"), 4);
    const onward = await startAlone(alone, { ...at, name: "stray", program: TELL });
    expect(await onward.exited).toMatchObject({ code: 0 });
    expect(await stepsIn(alone, "mine")).toEqual([["grows", 4, 4]]);

    const told = await runOnce(testedWorker(), ["runs", "grows", "--to", `s3://${stage.store.bucket}/mine`], {
      env: { ...keysInEnv(stage.store), TIDEMARK_STATE: join(alone.dir, "reader") },
    });
    expect(told.stdout.trim().split("\n")).toEqual([
      expect.stringMatching(/^step 4, .*by stray, .*the run goes on from it$/),
      expect.stringMatching(/^step 3, .*by member, .*complete$/),
      expect.stringMatching(/^step 2, .*by pioneer, .*complete$/),
      expect.stringMatching(/^step 1, .*by pioneer, .*complete$/),
    ]);

    // Every step is there as its writer left it: two alone, one with the hub, one after it.
    const folders = { pioneer: folderOf(alone, "pioneer"), stray: folderOf(alone, "stray") };
    const written = [folders.pioneer, folders.pioneer, stage.folderOf("member"), folders.stray];
    for (const [index, folder] of written.entries()) {
      const step = index + 1;
      const target = join(alone.dir, "back", String(step));
      const args = ["restore", `grows@${step}`, target, "--to", `s3://${stage.store.bucket}/mine`];
      const env = { ...keysInEnv(stage.store), TIDEMARK_STATE: join(alone.dir, "reader") };
      expect(await runOnce(testedWorker(), args, { env })).toMatchObject({ code: 0 });
      expect(hashFolder(target)).toEqual(hashFolder(join(folder, `checkpoint-${step}`)));
    }
  });
});
