import { execFileSync } from "node:child_process";
import { cp, mkdtemp, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findCandidates } from "./walk-watched.ts";
import { lookAt } from "./look.ts";
import { readReadiness } from "./readiness.ts";

/**
 * Checkpoints that the real libraries wrote (`clients/python/make_fixtures.py`; `versions.json` in the archive says which),
 * whole, with each of their files missing, and with each cut. What nothing in a checkpoint can tell is written down here
 * too: when a rule learns to tell it, its line has to go.
 */
const ARCHIVE = join(import.meta.dirname, "../../../e2e/stage/fixtures/real-checkpoints.tar.gz");

/** `whole`: nothing says that it is finished, but everything that a restart needs is there. */
type Verdict = "finished" | "whole" | "unsaid" | "unfinished" | "gone";

interface Real {
  writer: string;
  name: string;
  says: Verdict;
  /** Nobody misses these. */
  unmissed?: readonly string[];
  /** Of these nobody sees that they were cut. */
  unseen?: readonly string[];
}

const CONFIG = ["config.json", "generation_config.json"];
/** Nothing lists what the Trainer writes before its state; a program that is killed leaves none of them out. */
const BEFORE_STATE = [...CONFIG, "model.safetensors", "optimizer.pt", "scheduler.pt", "training_args.bin"];

const REAL: readonly Real[] = [
  {
    writer: "transformers-trainer",
    name: "checkpoint-4",
    says: "whole",
    unmissed: [...BEFORE_STATE, "rng_state.pth"],
    unseen: CONFIG,
  },
  {
    writer: "transformers-trainer-2-ranks",
    name: "checkpoint-4",
    says: "whole",
    unmissed: [...BEFORE_STATE, "rng_state_0.pth", "rng_state_1.pth"],
    unseen: CONFIG,
  },
  {
    writer: "transformers-shards",
    name: "step_2",
    says: "unsaid",
    unmissed: [...CONFIG, "model.safetensors.index.json"],
    unseen: CONFIG,
  },
  {
    writer: "accelerate-state",
    name: "checkpoint_2",
    says: "unsaid",
    unmissed: ["model.safetensors", "optimizer.bin", "random_states_0.pkl"],
  },
  { writer: "lightning", name: "epoch=0-step=2.ckpt", says: "finished" },
  // `last.ckpt` holds the same step and goes with it; a step is whole without it.
  {
    writer: "lightning",
    name: "epoch=0-step=4.ckpt",
    says: "finished",
    unmissed: ["last.ckpt"],
    unseen: ["last.ckpt"],
  },
  { writer: "torch-dcp", name: "step_2", says: "finished" },
  { writer: "torch-dcp-2-ranks", name: "step_2", says: "finished" },
  // Alone in its folder: another file of the step may follow.
  { writer: "torch-save", name: "step_2.pt", says: "whole" },
  { writer: "torch-save-legacy", name: "step_2.pt", says: "unsaid", unseen: ["step_2.pt"] },
  { writer: "safetensors", name: "step_2.safetensors", says: "unsaid" },
  { writer: "numpy-npz", name: "step_2.npz", says: "whole" },
];

let unpacked: string;
let watched: string;
beforeAll(async () => {
  unpacked = await mkdtemp(join(tmpdir(), "tidemark-real-"));
  watched = join(unpacked, "watched");
  execFileSync("tar", ["-xzf", ARCHIVE, "-C", unpacked]);
});
afterAll(() => rm(unpacked, { recursive: true, force: true }));
beforeEach(() => rm(watched, { recursive: true, force: true }));

/** As the agent sees it: found by its name, looked at, judged by its files. */
async function judge(name: string): Promise<Verdict> {
  const candidate = (await findCandidates({ folder: watched })).find((one) => one.name === name);
  const look = candidate === undefined ? null : await lookAt(candidate);
  if (candidate === undefined || look === null) return "gone";
  const readiness = await readReadiness(candidate, look);
  return readiness.says === "unsaid" && readiness.isWhole ? "whole" : readiness.says;
}

/** The names of a checkpoint's files, of which each is damaged in turn. A single file has its own name. */
async function putBack({ writer, name }: Real): Promise<{ name: string; path: string }[]> {
  await rm(watched, { recursive: true, force: true });
  await cp(join(unpacked, writer), watched, { recursive: true });
  const candidate = (await findCandidates({ folder: watched })).find((one) => one.name === name);
  const look = candidate === undefined ? null : await lookAt(candidate);
  if (look === null) throw new Error(`${writer} has no ${name}`);
  expect(look.temporary).toBeNull();
  return look.files.map(({ relative, path }) => ({ name: relative, path }));
}

/** From the first byte to the last but one; the last of a text is the end of its line. */
function lengthsOf(name: string, bytes: number): number[] {
  const last = name.endsWith(".json") ? [] : [bytes - 1];
  return [1, 8, 64, Math.floor(bytes / 3), Math.floor(bytes / 2), bytes - 22, ...last];
}

describe.each(REAL)("$writer: $name", (real) => {
  test("whole, it is judged as what it is", async () => {
    expect((await putBack(real)).length).toBeGreaterThan(0);
    expect(await judge(real.name)).toBe(real.says);
  });

  test("with a file missing it is not finished", async () => {
    for (const { name, path } of await putBack(real)) {
      await putBack(real);
      await rm(path);
      const isUnmissed = real.unmissed?.includes(name) === true;
      const expected = isUnmissed ? real.says : name === real.name ? "gone" : "unfinished";
      expect(await judge(real.name), `${name} is missing`).toBe(expected);
    }
  });

  test("with a file cut short it is not finished", async () => {
    for (const { name, path } of await putBack(real)) {
      await putBack(real);
      const { size } = await stat(path);
      const expected = real.unseen?.includes(name) === true ? real.says : "unfinished";
      for (const bytes of lengthsOf(name, size).toSorted((a, b) => b - a)) {
        await truncate(path, bytes);
        expect(await judge(real.name), `${name} has ${bytes} of ${size} bytes`).toBe(expected);
      }
    }
  });
});
