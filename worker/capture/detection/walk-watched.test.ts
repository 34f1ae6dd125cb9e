import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { torchFile } from "#storage/testing/torch-file.ts";
import { createFinder, findCandidates, restAfter } from "./walk-watched.ts";

let folder: string;
let outside: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-walk-"));
  outside = await mkdtemp(join(tmpdir(), "tidemark-walk-outside-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
  await rm(outside, { recursive: true, force: true });
});

async function write(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), path);
  }
}

const found = async (takes: ((name: string) => boolean) | null = null) =>
  (await findCandidates({ folder }, takes)).map(({ path, step, kind }) => [relative(folder, path), step, kind]);

test("checkpoints are found below the watched folder, wherever frameworks put them", async () => {
  await write(
    "lightning_logs/version_0/checkpoints/epoch=5-step=600.ckpt",
    "outputs/2026-11-27/12-30-00/step_200/model.pt",
    "runs/detect/train2/weights/epoch5.pt",
    "checkpoints/checkpoint_3/random_states_0.pkl",
    "seed_3/ckpt_40.pt",
    "100/_CHECKPOINT_METADATA",
  );
  expect(await found()).toEqual([
    ["checkpoints/checkpoint_3", 3, "folder"],
    ["runs/detect/train2/weights/epoch5.pt", 5, "file"],
    ["seed_3/ckpt_40.pt", 40, "file"],
    ["100", 100, "folder"],
    ["outputs/2026-11-27/12-30-00/step_200", 200, "folder"],
    ["lightning_logs/version_0/checkpoints/epoch=5-step=600.ckpt", 600, "file"],
  ]);
});

test("a checkpoint is not looked into for others, and hidden or half-written things are left alone", async () => {
  await write(
    "checkpoint-10/model.safetensors",
    "checkpoint-10/ckpt_7.pt",
    ".cache/ckpt_1.pt",
    "checkpoint-20.tmp/model.pt",
    "node_modules/x/ckpt_2.pt",
  );
  expect(await found()).toEqual([["checkpoint-10", 10, "folder"]]);
});

test("captures in the state folder of a worker are nobody's checkpoints", async () => {
  await write("step_10/model.pt", "state/worker.lock", "state/captures/a/files/ckpt_10.pt", "x/state/worker.lock");
  await write("x/state/captures/b/files/step_10/model.pt");
  expect(await found()).toEqual([["step_10", 10, "folder"]]);
});

test("deeper than six levels nothing is looked for", async () => {
  await write("1a/2a/3a/4a/5a/6a/ckpt_6.pt", "1a/2a/3a/4a/5a/6a/7a/ckpt_7.pt");
  expect(await found()).toEqual([["1a/2a/3a/4a/5a/6a/ckpt_6.pt", 6, "file"]]);
});

test("a link to a checkpoint in the folder is a label; one that leads out is that checkpoint", async () => {
  await write("checkpoint-10/model.pt");
  await symlink("checkpoint-10", join(folder, "checkpoint-best-10"));
  await mkdir(join(outside, "fast"));
  await symlink(join(outside, "fast"), join(folder, "checkpoint-500"));
  await symlink(outside, join(folder, "data"));
  await writeFile(join(outside, "ckpt_9.pt"), "of another program");
  expect(await found()).toEqual([
    ["checkpoint-10", 10, "folder"],
    ["checkpoint-500", 500, "folder"],
  ]);
});

test("a folder that a saver rewrites in place is one state", async () => {
  await write("state/random_states_0.pkl", "state/model.safetensors", "last/trainer_state.json");
  await writeFile(join(folder, "last/trainer_state.json"), '{"global_step": 70}');
  await utimes(join(folder, "state/random_states_0.pkl"), 1_700_000_000, 1_700_000_000);
  expect(await found()).toEqual([
    ["last", 70, "folder"],
    ["state", 1_700_000_000, "folder"],
  ]);
});

test("a pattern takes the place of what is known of names, also without a number", async () => {
  await write("ckpt.pt", "weights_7.dat", "step=30-v2.dat", "checkpoint-4/model.pt");
  expect(await found((name) => name.endsWith(".dat"))).toEqual([
    ["checkpoint-4", 4, "folder"],
    ["weights_7.dat", 7, "file"],
    ["step=30-v2.dat", 30, "file"],
  ]);
});

test("what is new in a folder that was listed before is found", async () => {
  const finder = createFinder({ folder }, null);
  await write("runs/ckpt_1.pt");
  await utimes(join(folder, "runs"), 1_700_000_000, 1_700_000_000);
  await finder.find();
  await finder.find();
  await write("runs/ckpt_2.pt");
  expect((await finder.find()).map(({ name }) => name)).toEqual(["ckpt_1.pt", "ckpt_2.pt"]);
});

test("weights without a state lie below the folder as a final model, those in a checkpoint do not", async () => {
  await write("outputs/run/model.safetensors", "outputs/run/config.json", "outputs/run/notes.txt");
  await write("checkpoint-10/model.safetensors", "model.safetensors");
  const finder = createFinder({ folder }, null);
  await finder.find();
  expect(finder.finals()).toMatchObject([
    { path: join(folder, "outputs/run"), names: ["model.safetensors", "config.json"].toSorted() },
  ]);
});

/** As scikit-learn's own pickles begin. */
const ESTIMATOR =
  "\u0080\u0004\u0095\u008c\u0018sklearn.ensemble._forest\u0094\u008c\u0016RandomForestClassifier\u0094\u0093";

test("a model without a word of its saver is a state by time where there is no checkpoint, and no step beside one", async () => {
  const at = (name: string) => join(folder, name);
  await writeFile(at("forest.joblib"), ESTIMATOR, "latin1");
  await writeFile(at("data.joblib"), "\u0080\u0004 of numbers", "latin1");
  await mkdir(at("net"));
  await write("net/model.h5");
  await writeFile(at("notes.bin"), "x".repeat(5_000));
  const long = new Date(2020, 0, 1);
  await utimes(at("data.joblib"), long, long);
  await utimes(at("notes.bin"), long, long);
  const finder = createFinder({ folder }, null);
  const states = (await finder.find()).map(({ name, stepFrom, kind }) => `${name} ${stepFrom} ${kind}`);
  expect(states.toSorted()).toEqual(["forest.joblib time file", "model.h5 time file"]);
  expect(finder.finals()).toEqual([]);
  expect(finder.holds(at("net/model.h5"))).toBe(true);
  await write("checkpoint-10/model.pt");
  expect((await finder.findAnew()).map(({ name }) => name)).toEqual(["checkpoint-10"]);
  expect(finder.finals()).toMatchObject([{ path: at("net"), names: ["model.h5"] }]);
  expect(finder.holds(at("net/model.h5"))).toBe(false);
});

const XGBOOST = '{"learner":{"attributes":{}},"version":[3,4,1]}';
const PICKLED = "\u0080\u0004 of numbers";

test.each([
  ["samples_10/0001.png", "pixels"],
  ["epoch_10/loss.csv", "0.1"],
  ["preds_5.npz", "numbers"],
  ["features_7.h5", "numbers"],
  ["fold_3/data.pkl", PICKLED],
  ["run/preds_5.npz", "numbers"],
])(
  "numbers that are no steps (%s) hide no model that only its content shows, nor what is written in place",
  async (name, content) => {
    await write(name, "net/model.h5", "plain/ckpt.pt", "plain/preds_8.npz");
    await writeFile(join(folder, name), content, "latin1");
    const at = (path: string) => join(folder, path);
    await writeFile(at("model.json"), XGBOOST);
    const names = async () => (await createFinder({ folder }, null).find()).map(({ path }) => relative(folder, path));
    expect(await names()).toEqual(expect.arrayContaining(["model.json", "net/model.h5", "plain/ckpt.pt"]));
    await write("checkpoint-40/model.safetensors");
    const beside = await names();
    expect(beside).toContain("checkpoint-40");
    expect(beside).not.toContain("model.json");
    expect(beside).not.toContain("net/model.h5");
  },
);

test.each(["model_10/model.json", "llama_100/model.bin", "model_10.json", "agent_10.joblib", "step_10/part/x.npz"])(
  "a step that its content or its name shows (%s) is a checkpoint, beside which a model of the content is none",
  async (name) => {
    await write(name, "100/notes.txt");
    const content = name.endsWith("bin") ? "PK\u0003\u0004" : name.endsWith("joblib") ? ESTIMATOR : XGBOOST;
    await writeFile(join(folder, name), content, "latin1");
    await writeFile(join(folder, "scaler.joblib"), ESTIMATOR, "latin1");
    const found = (await createFinder({ folder }, null).find()).map(({ path }) => relative(folder, path));
    expect(found).not.toContain("scaler.joblib");
  },
);

test("weights that their saver stripped at its end are final also in the watched folder itself", async () => {
  await write("epoch4.pt", "notes.txt");
  for (const name of ["last.pt", "best.pt"])
    await writeFile(join(folder, name), torchFile({ epoch: -1, optimizer: null }));
  const finder = createFinder({ folder }, null);
  expect((await finder.find()).map(({ name }) => name)).toEqual(["epoch4.pt"]);
  expect(finder.finals()).toMatchObject([{ path: folder, names: ["best.pt", "last.pt"] }]);
});

test("one slow walk on a busy machine keeps no new checkpoint from being seen for long", () => {
  expect(restAfter([600])).toBe(2_000);
  expect(restAfter([600, 8, 700])).toBe(0);
  expect(restAfter([600, 500, 700])).toBe(25_000);
});

test("a state that is overwritten in place has the step of accelerate, DeepSpeed or of the program's own file in it", async () => {
  const inPlace = async (name: string, state: Record<string, number>) => {
    await rm(join(folder, "state"), { recursive: true, force: true });
    await write("state/random_states_0.pkl", "state/model.safetensors");
    await writeFile(join(folder, "state", name), torchFile(state));
    const [one] = await findCandidates({ folder });
    return [one?.step, one?.stepFrom];
  };
  expect(await inPlace("random_states_0.pkl", { step: 40 })).toEqual([40, "inside"]);
  expect(await inPlace("custom_checkpoint_0.pkl", { global_step: 50 })).toEqual([50, "inside"]);
  expect(await inPlace("scheduler.bin", { last_epoch: 60 })).toEqual([60, "inside"]);
  expect(await inPlace("mp_rank_00_model_states.pt", { global_steps: 70 })).toEqual([70, "inside"]);
  expect((await inPlace("random_states_0.pkl", { step: 0 }))[1]).toBe("time");
});

test("Keras' files have the step of their optimizer where the name says none, and their epoch where it does", async () => {
  for (const name of ["keras-backup", "keras-weights"]) {
    const archive = join(import.meta.dirname, `../../../e2e/layouts/${name}.tar.gz`);
    execFileSync("tar", ["xzf", archive, "-C", folder]);
  }
  const all = (await findCandidates({ folder })).map(({ path, step, stepFrom }) => [
    relative(folder, path),
    step,
    stepFrom,
  ]);
  expect(all).toEqual([
    ...[1, 2, 3, 4].map((epoch) => [`epoch_00${epoch}.weights.h5`, epoch, undefined]),
    ["backup/latest.weights.h5", 16, "inside"],
  ]);
});
