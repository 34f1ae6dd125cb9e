import { describe, expect, it } from "vitest";
import { inspectFile } from "../inspect/inspect-file.ts";
import { sourceOfBytes } from "../inspect/source.ts";
import { besideIn, readArchive } from "../testing/real-files.ts";
import { createRecogniser } from "./recognise.ts";

interface Words {
  texts?: Record<string, string | null>;
  lists?: Record<string, string[]>;
}

/** What a listing of these keys is taken for. A key with `=N` behind a space has N bytes. */
function recognise(keys: readonly string[], words: Words = {}) {
  const recogniser = createRecogniser("team/");
  for (const line of keys) {
    const [key = "", size = "100"] = line.split(" =");
    recogniser.add({ key, sizeBytes: Number(size), modifiedAt: 1 });
  }
  for (const [key, text] of Object.entries(words.texts ?? {})) recogniser.tellText(key, text);
  for (const [key, names] of Object.entries(words.lists ?? {})) recogniser.tellList(key, names);
  return recogniser.end();
}

function only(keys: readonly string[], words?: Words) {
  const { runs } = recognise(keys, words);
  const steps = runs.flatMap((run) => run.steps.map((step) => ({ run: run.place, ...step })));
  expect(steps).toHaveLength(1);
  return steps[0];
}

const shards = (count: number, folder: string, without: number[] = []) =>
  Array.from({ length: count }, (_, index) => index + 1)
    .filter((number) => !without.includes(number))
    .map(
      (number) => `${folder}model-${String(number).padStart(5, "0")}-of-${String(count).padStart(5, "0")}.safetensors`,
    );

const TRAINER = [
  "config.json",
  "model.safetensors",
  "optimizer.pt",
  "scheduler.pt",
  "rng_state.pth",
  "trainer_state.json",
  "training_args.bin",
];
const under = (folder: string, names: readonly string[]) => names.map((name) => folder + name);

describe("transformers", () => {
  it("checkpoint-N with all that its Trainer writes is assumed complete", () => {
    expect(only(under("a/llama/checkpoint-500/", TRAINER))).toMatchObject({
      run: "a/llama/",
      place: "a/llama/checkpoint-500/",
      kind: "folder",
      step: 500,
      framework: "transformers",
      verdict: "assumed complete",
      files: 7,
      sizeBytes: 700,
    });
  });

  it("without trainer_state.json it was not finished, and without weights there is nothing to load", () => {
    const without = (name: string) =>
      only(
        under(
          "checkpoint-5/",
          TRAINER.filter((one) => one !== name),
        ),
      );
    expect(without("trainer_state.json")).toMatchObject({
      verdict: "incomplete",
      reason: expect.stringContaining("trainer_state.json is missing"),
    });
    expect(without("model.safetensors")).toMatchObject({ verdict: "incomplete", reason: "no weights are there" });
    expect(without("optimizer.pt")).toMatchObject({
      verdict: "assumed complete",
      reason: "weights only: weights and trainer_state.json are there, and no optimizer",
      isWeightsOnly: true,
    });
  });

  it("with an object in an archive it is unknown, and the object is named with what to do", () => {
    const recogniser = createRecogniser("team/");
    for (const key of under("checkpoint-5/", TRAINER)) {
      recogniser.add({
        key,
        sizeBytes: 1,
        modifiedAt: 1,
        storageClass: key.endsWith("optimizer.pt") ? "DEEP_ARCHIVE" : "STANDARD",
      });
    }
    expect(recogniser.end().runs[0]?.steps).toMatchObject([
      { verdict: "unknown", reason: "optimizer.pt is archived (DEEP_ARCHIVE): restore it first where it is stored" },
    ]);
  });

  it("with half of its shards it is incomplete", () => {
    const rest = under(
      "checkpoint-5/",
      TRAINER.filter((name) => name !== "model.safetensors"),
    );
    expect(only([...rest, ...shards(4, "checkpoint-5/", [2, 4])])).toMatchObject({
      verdict: "incomplete",
      reason: "missing shard 2 of 4 (model-00002-of-00004.safetensors), and 1 more",
    });
  });

  it("a missing shard is named by its number", () => {
    const rest = under(
      "checkpoint-5/",
      TRAINER.filter((name) => name !== "model.safetensors"),
    );
    expect(only([...rest, ...shards(8, "checkpoint-5/", [3])])).toMatchObject({
      verdict: "incomplete",
      reason: "missing shard 3 of 8 (model-00003-of-00008.safetensors)",
    });
    expect(only([...rest, ...shards(8, "checkpoint-5/", [1, 8])])?.reason).toBe(
      "missing shard 1 of 8 (model-00001-of-00008.safetensors), and 1 more",
    );
    expect(only([...rest, ...shards(8, "checkpoint-5/")])).toMatchObject({
      verdict: "assumed complete",
      reason: expect.stringContaining("all 8 shards"),
    });
  });

  it("an empty weights file is no weights file", () => {
    expect(only(["checkpoint-5/trainer_state.json", "checkpoint-5/model.safetensors =0"])).toMatchObject({
      verdict: "incomplete",
      reason: "model.safetensors is empty",
    });
  });
});

describe("other frameworks", () => {
  it("Lightning's files are one object each", () => {
    const { runs } = recognise([
      "r/epoch=0-step=20.ckpt",
      "r/epoch=1-step=40.ckpt",
      "r/last.ckpt",
      "r/epoch=2-step=60.ckpt =0",
    ]);
    expect(runs).toHaveLength(1);
    expect(runs[0]?.steps.map(({ step, framework, verdict }) => ({ step, framework, verdict }))).toEqual([
      { step: 60, framework: "lightning", verdict: "incomplete" },
      { step: 40, framework: "lightning", verdict: "assumed complete" },
      { step: 20, framework: "lightning", verdict: "assumed complete" },
      { step: null, framework: "torch", verdict: "assumed complete" },
    ]);
  });

  it("PyTorch DCP is whole with its .metadata, and surely with all that it lists", () => {
    const data = ["r/step_9/__0_0.distcp", "r/step_9/__1_0.distcp"];
    expect(only(data)).toMatchObject({
      framework: "torch-dcp",
      verdict: "incomplete",
      reason: expect.stringContaining(".metadata is missing"),
    });
    const whole = [...data, "r/step_9/.metadata"];
    expect(only(whole)).toMatchObject({
      verdict: "assumed complete",
      reason: expect.stringContaining("was not compared"),
    });
    const key = "r/step_9/.metadata";
    expect(only(whole, { lists: { [key]: ["__0_0.distcp", "__1_0.distcp"] } })).toMatchObject({
      verdict: "assumed complete",
      reason: "every file that its .metadata lists is there",
    });
    expect(only(whole, { lists: { [key]: ["__0_0.distcp", "__2_0.distcp"] } })).toMatchObject({
      verdict: "incomplete",
      reason: "__2_0.distcp is missing, which .metadata lists",
    });
  });

  it("Orbax is whole with its commit file or by its own word, half under the name it writes under, and else nobody knows", () => {
    const step = ["r/1000/_CHECKPOINT_METADATA", "r/1000/default/_METADATA"];
    const key = "r/1000/_CHECKPOINT_METADATA";
    expect(only([...step, "r/1000/commit_success.txt"])).toMatchObject({
      step: 1000,
      framework: "orbax",
      verdict: "assumed complete",
    });
    expect(only(step)).toMatchObject({ framework: "orbax", verdict: "unknown" });
    expect(only(step, { texts: { [key]: '{"commit_timestamp_nsecs": 17}' } })?.verdict).toBe("assumed complete");
    expect(only(step, { texts: { [key]: '{"commit_timestamp_nsecs": null}' } })).toMatchObject({
      verdict: "incomplete",
      reason: expect.stringContaining("not committed"),
    });
    // Of one item it is said, not of the step.
    expect(only(["r/1000/default/commit_success.txt", "r/1000/default/_METADATA"])?.verdict).toBe("unknown");
    expect(only(["r/1000/default/_METADATA", "r/1000/default/manifest.ocdbt"])).toMatchObject({
      framework: "orbax",
      verdict: "unknown",
    });
    expect(only(["r/1000.orbax-checkpoint-tmp-17/default/_METADATA"])).toMatchObject({
      step: 1000,
      framework: "orbax",
      verdict: "incomplete",
    });
    expect(only(["r/1000/commit_success.txt", "r/1000/default/_sharding"])).toMatchObject({
      verdict: "incomplete",
      reason: "default/_METADATA is missing",
    });
  });

  it("of Orbax everything is there that its index names, or what is missing is said", () => {
    const data = `d/${"ab".repeat(16)}`;
    const keys = ["_CHECKPOINT_METADATA", "commit_success.txt", "s/_METADATA", "s/manifest.ocdbt", `s/${data}`].map(
      (name) => `r/5/${name}`,
    );
    const lists = { "r/5/s/_METADATA": ["manifest.ocdbt", data] };
    expect(only(keys)?.reason).toContain("was not compared");
    expect(only(keys, { lists })).toMatchObject({
      verdict: "assumed complete",
      reason: expect.stringContaining("every file that its index names"),
    });
    expect(only(keys.slice(0, -1), { lists })).toMatchObject({
      verdict: "incomplete",
      reason: `s/${data} is missing, which its index names`,
    });
  });

  it("what Orbax wrote at no step is one checkpoint, and a folder called d is none", () => {
    const { runs, others } = recognise([
      "models/final/_CHECKPOINT_METADATA",
      "models/final/commit_success.txt",
      "models/final/state/_METADATA",
      `models/final/state/d/${"0f".repeat(16)}`,
      "models/final/state/ocdbt.process_0/manifest.ocdbt",
      `cache/d/${"0f".repeat(16)}`,
    ]);
    expect(
      runs.map(({ place, steps }) => [place, steps.map((one) => [one.place, one.step, one.framework, one.files])]),
    ).toEqual([["models/", [["models/final/", null, "orbax", 5]]]]);
    expect(others).toBe(1);
  });

  it("Megatron and DeepSpeed name the newest finished step in a file beside", () => {
    const megatron = [
      "m/iter_0000100/mp_rank_00/model_optim_rng.pt",
      "m/iter_0000100/mp_rank_01/model_optim_rng.pt",
      "m/latest_checkpointed_iteration.txt",
    ];
    const tracker = "m/latest_checkpointed_iteration.txt";
    expect(only(megatron)).toMatchObject({ step: 100, framework: "megatron", verdict: "unknown" });
    expect(only(megatron, { texts: { [tracker]: "100\n" } })).toMatchObject({ verdict: "assumed complete" });
    expect(only(megatron, { texts: { [tracker]: "90" } })).toMatchObject({
      verdict: "incomplete",
      reason: expect.stringContaining("names step 90"),
    });
    expect(only(megatron, { texts: { [tracker]: null } })).toMatchObject({ verdict: "unknown" });
    const deepspeed = [0, 1, 3].map((rank) => `d/global_step40/bf16_zero_pp_rank_${rank}_mp_rank_00_optim_states.pt`);
    expect(only(deepspeed, { texts: { "d/latest": "global_step40" } })).toMatchObject({
      step: 40,
      framework: "deepspeed",
      verdict: "incomplete",
      reason: expect.stringContaining("rank 2"),
    });
    const recogniser = createRecogniser(null);
    for (const key of [...megatron, ...deepspeed]) recogniser.add({ key, sizeBytes: 1, modifiedAt: 1 });
    expect(recogniser.wanted()).toEqual([
      { key: tracker, kind: "text" },
      { key: "d/latest", kind: "text" },
    ]);
  });

  it("an exported model has no step", () => {
    expect(
      only([...shards(3, "models/llama/"), "models/llama/config.json", "models/llama/model.safetensors.index.json"]),
    ).toMatchObject({
      run: "models/",
      place: "models/llama/",
      step: null,
      framework: "safetensors",
      verdict: "assumed complete",
    });
    expect(only(["models/x/model.safetensors.index.json"])).toMatchObject({ verdict: "incomplete" });
    expect(only(["models/tiny.gguf"])).toMatchObject({ kind: "file", framework: "gguf", verdict: "assumed complete" });
  });
});

it("what rclone or Kelpie copied half way is seen by what is missing, in whatever order it came", () => {
  const tree = under("kelpie/job-1/checkpoint-500/", TRAINER);
  for (const order of [tree, tree.toReversed()]) expect(only(order)).toMatchObject({ verdict: "assumed complete" });
  expect(only(tree.slice(0, 4))).toMatchObject({ verdict: "incomplete" });
  expect(only(["r/checkpoint-5-tmp-1/model.safetensors"])).toMatchObject({ step: 5, verdict: "incomplete" });
});

it("what Tidemark wrote, and what is no checkpoint, is counted and passed over", () => {
  expect(
    recognise([
      "team/runs/llama/e000001/abc/model.safetensors",
      "team/manifests/llama/e000001/s1.json",
      "team/epochs/llama/e000001.json",
      "logs/2024/05/a.txt",
      "README.md",
    ]),
  ).toEqual({ runs: [], objects: 5, others: 2, own: 3, omitted: 0 });
});

it("finds in real checkpoints what their libraries wrote", () => {
  const keys = [...readArchive("real-checkpoints")].map(([path, bytes]) => `${path} =${bytes.length}`);
  const { runs } = recognise(keys);
  const found = Object.fromEntries(
    runs.flatMap(({ steps }) =>
      steps.map(({ place, step, framework, verdict }) => [place, [step, framework, verdict]]),
    ),
  );
  expect(found).toEqual({
    "accelerate-state/checkpoint_2/": [2, "accelerate", "unknown"],
    "lightning/epoch=0-step=2.ckpt": [2, "lightning", "assumed complete"],
    "lightning/epoch=0-step=4.ckpt": [4, "lightning", "assumed complete"],
    "lightning/last.ckpt": [null, "torch", "assumed complete"],
    "numpy-npz/step_2.npz": [2, "numpy", "assumed complete"],
    "safetensors/step_2.safetensors": [2, "safetensors", "assumed complete"],
    "torch-dcp-2-ranks/step_2/": [2, "torch-dcp", "assumed complete"],
    "torch-dcp/step_2/": [2, "torch-dcp", "assumed complete"],
    "torch-save-legacy/step_2.pt": [2, "torch", "assumed complete"],
    "torch-save/step_2.pt": [2, "torch", "assumed complete"],
    "transformers-shards/step_2/": [2, "safetensors", "assumed complete"],
    "transformers-trainer-2-ranks/checkpoint-4/": [4, "transformers", "assumed complete"],
    "transformers-trainer/checkpoint-4/": [4, "transformers", "assumed complete"],
  });
});

it("finds in what Orbax wrote what is whole and what was killed", async () => {
  const files = readArchive("orbax-checkpoints");
  const recogniser = createRecogniser(null);
  for (const [key, bytes] of files) recogniser.add({ key, sizeBytes: bytes.length, modifiedAt: 1 });
  for (const { key, kind } of recogniser.wanted()) {
    const bytes = files.get(key);
    if (kind === "text") recogniser.tellText(key, bytes?.toString("utf8") ?? null);
    else if (bytes !== undefined) {
      const { names, fault } = await inspectFile(key, sourceOfBytes(bytes), besideIn(files, key));
      expect([key, fault]).toEqual([key, null]);
      recogniser.tellList(key, names);
    }
  }
  const steps = recogniser.end().runs.flatMap((run) => run.steps);
  expect(new Set(steps.map(({ framework }) => framework))).toEqual(new Set(["orbax"]));
  const verdicts = Object.fromEntries(steps.map(({ place, step, verdict }) => [place, `${step} ${verdict}`]));
  expect(verdicts).toEqual({
    "standard/2/": "2 assumed complete",
    "pytree/step_2/": "2 assumed complete",
    "spread/step_2/": "2 assumed complete",
    "dtypes/2/": "2 assumed complete",
    "zarr/step_2/": "2 assumed complete",
    "zarr3/step_2/": "2 assumed complete",
    "ocdbt-zarr3/step_2/": "2 assumed complete",
    "manager/4/": "4 assumed complete",
    "manager/6/": "6 assumed complete",
    "manager-named/ckpt_00000003/": "3 assumed complete",
    "commit-file/2/": "2 assumed complete",
    "killed-early/2/": "2 assumed complete",
    "killed-early/3.orbax-checkpoint-tmp/": "3 incomplete",
    "killed-late/2/": "2 assumed complete",
    "killed-late/3.orbax-checkpoint-tmp/": "3 incomplete",
    "commit-file-killed-early/2/": "2 assumed complete",
    "commit-file-killed-early/3/": "3 incomplete",
    "commit-file-killed-late/2/": "2 assumed complete",
    "commit-file-killed-late/3/": "3 incomplete",
    "older-pytree/step_2/": "2 assumed complete",
    "older-manager/4/": "4 assumed complete",
    "older-manager/6/": "6 assumed complete",
    "older-commit-file/2/": "2 assumed complete",
  });
});

describe("a bucket of any size", () => {
  it("is remembered by its checkpoints, so many and no more", () => {
    const recogniser = createRecogniser(null);
    for (let index = 0; index < 60_000; index++) {
      recogniser.add({ key: `r${index}/checkpoint-1/model-00001-of-99999.safetensors`, sizeBytes: 1, modifiedAt: 1 });
    }
    const { runs, omitted, objects } = recogniser.end();
    expect(objects).toBe(60_000);
    expect(runs.length + omitted).toBe(60_000);
    expect(runs.length).toBeLessThanOrEqual(20_000);
    // Room for shards is shared: what was not remembered is not called missing.
    const verdicts = new Set(runs.flatMap(({ steps }) => steps.map(({ verdict }) => verdict)));
    expect(verdicts).toEqual(new Set(["incomplete", "unknown"]));
  });

  it("is judged by a set of shards however large, out of order", () => {
    const recogniser = createRecogniser(null);
    for (let number = 99_999; number >= 1; number--) {
      if (number !== 4_711)
        recogniser.add({
          key: `r/step_1/w-${String(number).padStart(5, "0")}-of-99999.bin`,
          sizeBytes: 1,
          modifiedAt: 1,
        });
    }
    expect(recogniser.end().runs[0]?.steps[0]?.reason).toBe("missing shard 4711 of 99999 (w-04711-of-99999.bin)");
  });
});
