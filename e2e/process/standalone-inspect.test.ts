import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keysInEnv, profileInFiles } from "../stage/keys-in-env.ts";
import { closeAlone, openAlone, type Alone } from "../stage/open-alone.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { writeCheckpoint, writeSafetensors } from "../stage/write-checkpoint.ts";

/** `tidemark inspect RUN[@STEP] --to`: what is inside a checkpoint of a bucket, without a hub and without fetching it. */

let alone: Alone;
let key: string;
beforeAll(async () => {
  alone = await openAlone();
  key = join(alone.dir, "key");
  expect(await asked("keygen", key)).toMatchObject({ code: 0 });
  const folder = join(alone.dir, "made");
  const whole = [10, 20].map((step) =>
    writeCheckpoint({ folder, step, modelBytes: 20_000_000, optimizerBytes: 100_000, loss: 1 }),
  );
  const damaged = join(alone.dir, "checkpoint-30");
  mkdirSync(`${damaged}.part`);
  writeSafetensors(join(`${damaged}.part`, "whole.safetensors"), [{ name: "a", shape: [4] }]);
  writeFileSync(join(`${damaged}.part`, "broken.safetensors"), Buffer.alloc(64, 0xff));
  renameSync(`${damaged}.part`, damaged);
  const saves = [
    ...whole.map((path) => [path, "--run", "plain"]),
    ...whole.slice(0, 1).map((path) => [path, "--run", "sealed", "--encrypt-key", key, "--encrypt-names"]),
    [damaged, "--run", "broken"],
  ];
  for (const args of saves) {
    const saved = await asked("save", ...args, "--to", place(), "--state", join(alone.dir, `state-${args[2] ?? ""}`));
    expect(saved, saved.stderr).toMatchObject({ code: 0 });
  }
});
afterAll(() => closeAlone(alone));

const place = () => `s3://${alone.store.bucket}/ckpts`;
const asked = (...args: string[]) =>
  runOnce(testedWorker(), args, {
    env: { ...profileInFiles(alone.dir, alone.store), TIDEMARK_STATE: join(alone.dir, "laptop"), HOME: alone.dir },
  });
const inspected = async (...args: string[]) => {
  const { code, stdout, stderr } = await asked("inspect", ...args, "--to", place());
  expect(stderr).toBe("");
  return { code, stdout };
};

test("a checkpoint is summed up by its tensors and files, the newest where no step is named", async () => {
  const newest = await inspected("plain");
  expect(newest.code).toBe(0);
  expect(newest.stdout).toMatch(/^plain step 20, epoch 1, by [^:]+: .*4 files, .* of it read\)/);
  expect(newest.stdout).toMatch(/^Place: the folder checkpoint-20 in the watched folder/m);
  expect(newest.stdout).toContain("Lineage: ");
  expect(newest.stdout).toMatch(/^model\.safetensors: safetensors, [\d.]+ MiB, \d+ tensors?$/m);
  const { stdout } = await inspected("plain@10", "--json");
  const line = JSON.parse(stdout.trim()) as { files: { path: string; readBytes: number; tensors: number }[] };
  expect(line).toMatchObject({ type: "checkpoint", run: "plain", step: 10, epoch: 1, isEncrypted: false });
  const model = line.files.find(({ path }) => path === "model.safetensors");
  expect(model?.tensors).toBeGreaterThan(0);
  // Only its header is read.
  expect(model?.readBytes).toBeLessThan(1_000_000);
});

test("one file of it is shown as a file of the disk is, and one that is not there is refused with names", async () => {
  const one = await inspected("plain@10", "model.safetensors", "--json");
  const lines = one.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines[0]).toMatchObject({ type: "tensor", dtype: "F32" });
  expect(lines.at(-1)).toMatchObject({ type: "inspected", name: "model.safetensors", fault: null });
  expect(await asked("inspect", "plain@10", "nothing.bin", "--to", place())).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/nothing\.bin.*the checkpoint has .*model\.safetensors/s) as string,
  });
});

test("an encrypted checkpoint is shown with its key, and refused with what to do without it", async () => {
  const { stdout } = await inspected("sealed", "--encrypt-key", key);
  expect(stdout).toContain("encrypted, 4 files");
  expect(stdout).toMatch(/^model\.safetensors: safetensors/m);
  const refused = await asked("inspect", "sealed", "--to", place());
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("--encrypt-key");
});

test("a damaged file ends it with 6, a run that is not there with 3, and files and addresses stay what they were", async () => {
  const { code, stdout } = await inspected("broken");
  expect(code).toBe(6);
  expect(stdout).toMatch(/^broken\.safetensors: .*: /m);
  expect(stdout).toContain("whole.safetensors: safetensors");
  expect(await asked("inspect", "nobody@3", "--to", place())).toMatchObject({ code: 3 });
  const file = join(alone.dir, "checkpoint-30", "whole.safetensors");
  const env = { ...keysInEnv(alone.store), TIDEMARK_TO: place(), HOME: alone.dir };
  const local = await runOnce(testedWorker(), ["inspect", file], { env });
  expect(local).toMatchObject({ code: 0, stdout: expect.stringContaining("1 tensor, 4 parameters") as string });
});
