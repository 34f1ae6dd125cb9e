import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { openStage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { startProcess } from "../stage/start-process.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { readLog } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** `tidemark restore` and `tidemark status` with `--to`: no worker, no hub, nothing written to the bucket. */

const write = (folder: string, step: number): string =>
  writeCheckpoint({ folder, step, modelBytes: 1_000_000, optimizerBytes: 1_000_000, loss: 1 });
const ENDS = "process.exit(0)";

describe("a bucket without a worker", () => {
  let alone: Alone;
  const written = new Map<number, string>();
  beforeAll(async () => {
    alone = await openAlone();
    for (const step of [10, 20]) {
      written.set(step, write(folderOf(alone, "trainer"), step));
      const node = await startAlone(alone, { run: "llama", prefix: "ckpts", name: "trainer", program: ENDS });
      expect(await node.exited).toMatchObject({ code: 0 });
    }
  });
  afterAll(() => closeAlone(alone));

  const tidemark = (...args: string[]) =>
    runOnce(testedWorker(), [...args, "--to", `s3://${alone.store.bucket}/ckpts`], {
      env: { ...keysInEnv(alone.store), TIDEMARK_STATE: join(alone.dir, "laptop") },
    });
  const hashOf = (step: number) => hashFolder(written.get(step) ?? "");

  test("gives the newest checkpoint, one step, and some files of it, and stays as it was", async () => {
    const writes = async () =>
      (await readLog(alone.store)).filter(
        ({ receivedBytes, operation }) =>
          receivedBytes > 0 || /^(Put|Delete|Create|Upload|Copy|Complete|Abort)/.test(operation),
      );
    const before = await writes();
    const newest = join(alone.dir, "out", "newest");
    expect(await tidemark("restore", "llama", newest)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Restored llama step 20 to ${newest}.`) as string,
    });
    expect(hashFolder(newest)).toEqual(hashOf(20));
    const step = join(alone.dir, "out", "step");
    expect(await tidemark("restore", "llama@10", step)).toMatchObject({ code: 0 });
    expect(hashFolder(step)).toEqual(hashOf(10));
    const some = join(alone.dir, "out", "some");
    expect(await tidemark("restore", "llama", some, "--only", "*.json")).toMatchObject({ code: 0 });
    expect(readdirSync(some).toSorted()).toEqual(["config.json", "trainer_state.json"]);
    // The journals of restores that are complete are gone.
    expect(readdirSync(join(alone.dir, "laptop", "restores"))).toEqual([]);
    expect(await writes()).toEqual(before);
  });

  test("one that was killed is gone on with by the same command alone", async () => {
    const target = join(alone.dir, "out", "killed");
    const place = `s3://${alone.store.bucket}/ckpts`;
    const env = { ...keysInEnv(alone.store), TIDEMARK_STATE: join(alone.dir, "laptop") };
    const args = ["restore", "llama@10", target, "--to", place];
    const killed = await startProcess({
      title: "restore",
      entry: testedWorker(),
      args: [...args, "--limit-down", "50KB"],
      env,
    });
    const out = join(alone.dir, "out");
    const isBegun = () => existsSync(out) && readdirSync(out).some((name) => name.startsWith(".killed.restoring-"));
    await waitUntil("it has begun", isBegun);
    process.kill(killed.pid, "SIGKILL");
    await killed.exited;
    const would = await tidemark("restore", "llama@20", target, "--dry-run");
    expect(would.stdout).toContain(`Would restore llama step 20 to ${target}`);
    expect(existsSync(target)).toBe(false);
    expect(await tidemark("restore", "llama@20", target)).toMatchObject({ code: 0 });
    expect(hashFolder(target)).toEqual(hashOf(20));
    expect(await runOnce(testedWorker(), args, { env })).toMatchObject({ code: 0 });
    expect(hashFolder(target)).toEqual(hashOf(10));
    expect(readdirSync(join(alone.dir, "laptop", "restores"))).toEqual([]);
  });

  test("says what a restore would do, and does nothing", async () => {
    const target = join(alone.dir, "out", "would");
    const would = await tidemark("restore", "llama@10", target, "--dry-run");
    expect(would).toMatchObject({ code: 0 });
    expect(would.stdout).toContain(`Would restore llama step 10 to ${target}: 4 files`);
    expect(existsSync(target)).toBe(false);
  });

  test("is asked for a run or a step that it does not have", async () => {
    const [run, step] = await Promise.all([
      tidemark("restore", "nobody", join(alone.dir, "out", "a")),
      tidemark("restore", "llama@11", join(alone.dir, "out", "b")),
    ]);
    expect(run).toMatchObject({ code: 3, stderr: expect.stringContaining("no complete checkpoint") as string });
    expect(step).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("no complete checkpoint of step 11") as string,
    });
  });

  test("is listed by status on a machine without a worker", async () => {
    const status = await tidemark("status");
    expect(status.code).toBe(3);
    expect(status.stdout).toContain("nothing waits in its queue");
    expect(status.stdout).toContain("llama: step 20");
    const state = join(alone.dir, "nodes", "trainer", "state");
    const untold = await runOnce(testedWorker(), ["status", "--state", state], { env: keysInEnv(alone.store) });
    expect(untold.stdout).toContain(
      "By the record of this node (--to s3://bucket/prefix asks the bucket): llama can go on from step 20",
    );
    const own = await runOnce(testedWorker(), ["status", "--to", `s3://${alone.store.bucket}/ckpts`, "--json"], {
      env: { ...keysInEnv(alone.store), TIDEMARK_STATE: state },
    });
    expect(JSON.parse(own.stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({
      continueBy: "bucket",
      continueFrom: [{ run: "llama", newest: { step: 20, isDamaged: false } }],
      stored: [{ run: "llama", newestStep: 20, checkpoints: 2 }],
    });
  });

  test("passes over a newest one that lost an object, and says so", async () => {
    const keys = (await readLog(alone.store)).map(({ key }) => key);
    const [last] = [
      ...new Set(keys.filter((key) => key.startsWith("ckpts/runs/") && key.endsWith("model.safetensors"))),
    ].toReversed();
    const place = `s3://${alone.store.bucket}/${last ?? ""}`;
    expect(await runOnce(testedWorker(), ["rm", place], { env: keysInEnv(alone.store) })).toMatchObject({ code: 0 });
    const target = join(alone.dir, "out", "before");
    const restored = await tidemark("restore", "llama", target);
    expect(restored).toMatchObject({ code: 0 });
    expect(restored.stdout).toContain(`Restored llama step 10 to ${target}. Step 20 is damaged.`);
    expect(hashFolder(target)).toEqual(hashOf(10));
  });
});

test("a bucket that a hub keeps is read with keys alone", async () => {
  const stage = await openStage();
  try {
    const run = runName.parse("kept");
    await stage.startNode({ name: "gpu-1", run });
    const path = write(stage.folderOf("gpu-1"), 7);
    await waitComplete(stage, run, { step: 7 });
    const { bucket } = stage.store;
    const profiles = await stage.client.profiles.list.query();
    const prefix = profiles[0]?.profile.prefix ?? "";
    const target = join(stage.dir, "out");
    const restored = await runOnce(testedWorker(), ["restore", "kept", target, "--to", `s3://${bucket}/${prefix}`], {
      env: { ...keysInEnv(stage.store), TIDEMARK_STATE: join(stage.dir, "laptop") },
    });
    expect(restored).toMatchObject({ code: 0 });
    expect(hashFolder(target)).toEqual(hashFolder(path));
  } finally {
    await stage.close();
  }
});
