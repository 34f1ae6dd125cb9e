import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeCheckpoint } from "./describe.ts";
import { lookAt } from "./look.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-describe-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function describe(state: unknown) {
  await writeFile(join(folder, "trainer_state.json"), typeof state === "string" ? state : JSON.stringify(state));
  const look = await lookAt({ path: folder, kind: "folder" });
  return describeCheckpoint(look?.files ?? []);
}

test("metrics are the newest values of what was measured; counters and clocks are left out", async () => {
  const log_history = [
    { step: 10, epoch: 0.1, loss: 2.5, learning_rate: 1e-4, grad_norm: 0.9, num_input_tokens_seen: 4096 },
    { step: 20, epoch: 0.2, eval_loss: 2.1, eval_runtime: 3.3, eval_steps_per_second: 8 },
    { step: 20, epoch: 0.2, loss: 2.2, "rewards/margin": 0.4, mode: "train" },
    { step: 20, train_runtime: 5, train_samples_per_second: 7, total_flos: 1e18, train_loss: 2.3 },
  ];
  expect(await describe({ global_step: 20, log_history })).toEqual({
    framework: "transformers",
    metrics: {
      loss: 2.2,
      learning_rate: 1e-4,
      grad_norm: 0.9,
      eval_loss: 2.1,
      "rewards/margin": 0.4,
      train_loss: 2.3,
    },
  });
});

test("a state that is cut short or is something else has no metrics, and is no reason to fail", async () => {
  expect((await describe('{"log_history": [')).metrics).toEqual({});
  expect((await describe({ log_history: "none" })).metrics).toEqual({});
});

test("Orbax keeps its metrics in an item of their own", async () => {
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  };
  const files = async () => (await lookAt({ path: folder, kind: "folder" }))?.files ?? [];
  await write("_CHECKPOINT_METADATA", "{}");
  expect(await describeCheckpoint(await files())).toEqual({ framework: "orbax", metrics: {} });
  await write("metrics/metrics", '{"loss": 0.25, "accuracy": 0.5, "epoch": 3, "note": "text"}');
  expect(await describeCheckpoint(await files())).toEqual({
    framework: "orbax",
    metrics: { loss: 0.25, accuracy: 0.5 },
  });
});
