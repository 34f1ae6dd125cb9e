import type { S3Client } from "@aws-sdk/client-s3";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENDED_UNSAFE } from "#protocol/wire/reports.ts";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { deleteObject, getObjectText, putObjectText } from "#storage/s3/objects.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { ROOT } from "../stage/start-process.ts";
import { PRINT_RESUME, program, readTexts, said, writer } from "../stage/write-files-program.ts";

/** A checkpoint comes back under its own name at its own place, whatever its framework calls it and wherever it lay. */
interface Layout {
  run: string;
  files: Record<string, string>;
  back: Record<string, string>;
  resume: string;
}
const LAYOUTS: readonly Layout[] = [
  {
    run: "two-files",
    files: {
      "model_step_10.pt": "m10",
      "optim_step_10.pt": "o10",
      "model_step_20.pt": "m20",
      "optim_step_20.pt": "o20",
    },
    back: { "model_step_20.pt": "m20", "optim_step_20.pt": "o20" },
    resume: "model_step_20.pt",
  },
  {
    run: "link",
    files: { "step_10.pt": "10", "step_20.pt": "20", "latest.pt": "-> step_20.pt" },
    back: { "step_20.pt": "20", "latest.pt": "-> step_20.pt" },
    resume: "step_20.pt",
  },
];
/** The same whoever is asked. */
const FURTHER_LAYOUTS: readonly Layout[] = [
  {
    run: "numbered",
    files: { "ckpt_40.pt": "40", "ckpt_50.pt": "50" },
    back: { "ckpt_50.pt": "50" },
    resume: "ckpt_50.pt",
  },
  {
    run: "in-place",
    files: { "ckpt.pt": "the only one" },
    back: { "ckpt.pt": "the only one" },
    resume: "ckpt.pt",
  },
  {
    run: "folders",
    files: {
      "outputs/2026-11-27/12-30-00/step_200/model.pt": "m",
      "outputs/2026-11-27/12-30-00/.hydra/config.yaml": "c",
    },
    back: {
      "outputs/2026-11-27/12-30-00/step_200/model.pt": "m",
      "outputs/2026-11-27/12-30-00/.hydra/config.yaml": "c",
    },
    resume: "outputs/2026-11-27/12-30-00/step_200",
  },
  {
    run: "pointer",
    files: { "global_step20/mp_rank_00_model_states.pt": "m", latest: "global_step20" },
    back: { "global_step20/mp_rank_00_model_states.pt": "m", latest: "global_step20" },
    resume: "global_step20",
  },
  {
    run: "sb3",
    files: {
      "rl_model_8000_steps.zip": "model",
      "rl_model_replay_buffer_8000_steps.pkl": "buffer",
      "rl_model_vecnormalize_8000_steps.pkl": "statistics",
    },
    back: {
      "rl_model_8000_steps.zip": "model",
      "rl_model_replay_buffer_8000_steps.pkl": "buffer",
      "rl_model_vecnormalize_8000_steps.pkl": "statistics",
    },
    resume: "rl_model_8000_steps.zip",
  },
];

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  let fixtures: string;
  beforeAll(async () => {
    staged = await stageOver(implementation);
    fixtures = mkdtempSync(join(staged.dir, "fixtures-"));
    execFileSync("tar", ["xzf", join(ROOT, "e2e/stage/fixtures/real-checkpoints.tar.gz"), "-C", fixtures]);
  });
  afterAll(() => staged.close());

  /** Returns the key of the one object with the data of a run. */
  async function keyOfData(client: S3Client, run: string): Promise<string> {
    const keys: string[] = [];
    const prefix = `${OWN_FOLDERS.data}${run}/`;
    for await (const { key } of listObjects(client, { bucket: staged.store.bucket, prefix })) keys.push(key);
    expect(keys).toHaveLength(1);
    return keys[0] ?? "";
  }

  async function runTo(node: string, run: string, script: string[]) {
    mkdirSync(staged.folderOf(node), { recursive: true });
    const worker = await staged.startNode({ name: node, run, program: script, flags: ["--settle", "50ms"] });
    const { code } = await worker.exited;
    expect(code, said(worker)).toBe(0);
    return worker;
  }

  /** Trains on one node, starts again on another with an empty folder, and returns what lies there and what the program was told. */
  async function moved(run: string, files: Readonly<Record<string, string>>) {
    const first = `${run}-1`;
    await runTo(first, run, writer(staged.folderOf(first), files));
    const second = `${run}-2`;
    const worker = await runTo(second, run, PRINT_RESUME);
    const folder = staged.folderOf(second);
    const resume = /resumes at \[(.*)\]/.exec(said(worker))?.[1] ?? "";
    return { files: readTexts(folder), resume: resume.replace(`${folder}/`, ""), worker, folder };
  }

  test("Lightning's files come back as files below their version, with last.ckpt", async () => {
    const names = ["epoch=0-step=2.ckpt", "epoch=0-step=4.ckpt", "last.ckpt"];
    const first = staged.folderOf("lightning-1");
    const place = join(first, "lightning_logs/version_0/checkpoints");
    await runTo(
      "lightning-1",
      "lightning",
      program(`const fs = require("node:fs");
      fs.mkdirSync(${JSON.stringify(place)}, { recursive: true });
      fs.writeFileSync(${JSON.stringify(join(dirname(place), "hparams.yaml"))}, "lr: 0.1");
      for (const name of ${JSON.stringify(names)}) fs.copyFileSync(${JSON.stringify(join(fixtures, "lightning"))} + "/" + name, ${JSON.stringify(place)} + "/" + name);`),
    );
    const worker = await runTo("lightning-2", "lightning", PRINT_RESUME);
    const second = join(staged.folderOf("lightning-2"), "lightning_logs/version_0/checkpoints");
    expect(readdirSync(second).toSorted()).toEqual(["epoch=0-step=4.ckpt", "last.ckpt"]);
    for (const name of ["epoch=0-step=4.ckpt", "last.ckpt"]) {
      expect(readFileSync(join(second, name)).equals(readFileSync(join(place, name)))).toBe(true);
      expect(Math.abs(statSync(join(second, name)).mtimeMs - statSync(join(place, name)).mtimeMs)).toBeLessThan(1);
    }
    expect(readFileSync(join(dirname(second), "hparams.yaml"), "utf8")).toBe("lr: 0.1");
    expect(said(worker)).toContain(`resumes at [${join(second, "epoch=0-step=4.ckpt")}]`);
    const [newest] = await staged.completeOf("lightning");
    expect(newest?.place).toMatchObject({
      path: "lightning_logs/version_0/checkpoints/epoch=0-step=4.ckpt",
      kind: "files",
      stepSource: "name",
    });
  });

  const comesBack = async ({ run, files, back, resume }: Layout) => {
    const found = await moved(run, files);
    expect(found.files).toEqual(back);
    expect(found.resume).toBe(resume);
  };
  test.each(LAYOUTS)("$run: the same files at the same places", comesBack);

  test("a file that is restored over another one keeps it aside", async () => {
    await moved("over", { "ckpt_50.pt": "trained" });
    const third = staged.folderOf("over-3");
    mkdirSync(third, { recursive: true });
    writeFileSync(join(third, "ckpt_50.pt"), "of another program");
    await runTo("over-3", "over", PRINT_RESUME);
    expect(readTexts(third)).toEqual({ "ckpt_50.pt": "trained", ".set-aside-ckpt_50.pt": "of another program" });
  });

  test("from the beginning, nothing of a step stays where the program would find it, and what is in the bucket goes", async () => {
    const node = "none-1";
    const folder = staged.folderOf(node);
    const files = { "model_step_10.pt": "m", "optim_step_10.pt": "o", "last.pt": "l" };
    await runTo(node, "none", writer(folder, files));
    const again = async (flags: string[]) => {
      const worker = await staged.startNode({ name: node, run: "none", program: PRINT_RESUME, flags });
      expect((await worker.exited).code, said(worker)).toBe(0);
      return worker;
    };
    const worker = await again(["--from", "none"]);
    expect(said(worker)).toContain("resumes at []");
    const aside = Object.fromEntries(Object.entries(files).map(([name, text]) => [`.set-aside-${name}`, text]));
    expect(readTexts(folder)).toEqual(aside);
    await again([]);
    expect(readTexts(folder)).toEqual({});
  });

  test("what was set aside stays when its checkpoint was removed from the bucket since, and goes once that is back", async () => {
    const node = "emptied-1";
    const folder = staged.folderOf(node);
    await runTo(node, "emptied", writer(folder, { "step_10/model.pt": "m" }));
    const again = async (flags: string[]) => {
      const worker = await staged.startNode({ name: node, run: "emptied", program: program("0"), flags });
      expect((await worker.exited).code, said(worker)).toBe(0);
    };
    await again(["--from", "none"]);
    const aside = { ".set-aside-step_10/model.pt": "m" };
    expect(readTexts(folder)).toEqual(aside);
    // By another tool: the record of the hub still says that it is complete.
    const { store } = staged;
    const access = { ...store, region: "us-east-1", addressing: "path", traits: traitsOf("minio") } as const;
    const client = createControlClient({
      access,
      credential: { accessKeyId: store.accessKey, secretAccessKey: store.secretKey },
    });
    try {
      const at = { bucket: store.bucket, key: await keyOfData(client, "emptied") };
      const { text } = await getObjectText(client, { ...at, maxBytes: 1_000 });
      await deleteObject(client, at);
      await again([]);
      expect(readTexts(folder)).toEqual(aside);
      await putObjectText(client, { ...at, text });
      await again([]);
      expect(readTexts(folder)).toEqual({});
    } finally {
      client.destroy();
    }
  });

  test("training that begins anew in the same folder is kept safe, and the next node goes on from it", async () => {
    const node = "anew-1";
    const folder = staged.folderOf(node);
    await runTo(node, "anew", writer(folder, { "step_200/model.pt": "old" }));
    const again = await runTo(node, "anew", writer(folder, { "step_30/model.pt": "new" }));
    expect(said(again)).toContain("Training of anew began anew: step 30 was written after step 200.");
    const worker = await runTo("anew-2", "anew", PRINT_RESUME);
    expect(said(worker)).toContain("anew goes on from step 30.");
    expect(readTexts(staged.folderOf("anew-2"))).toEqual({ "step_30/model.pt": "new" });
    // The line before is still there, whole.
    expect((await staged.completeOf("anew")).map(({ step, isNewest }) => ({ step, isNewest }))).toEqual([
      { step: 30, isNewest: true },
      { step: 200, isNewest: false },
    ]);
  });

  test("what is in no checkpoint format is told, and --require-safe ends with 9", async () => {
    const folder = staged.folderOf("untaken");
    mkdirSync(folder, { recursive: true });
    const flags = ["--settle", "50ms", "--require-safe"];
    const notes = program(
      `require("node:fs").writeFileSync(${JSON.stringify(join(folder, "notes.dat"))}, "x".repeat(9000))`,
    );
    const worker = await staged.startNode({ name: "untaken", run: "untaken", program: notes, flags });
    expect(await worker.exited).toMatchObject({ code: 9 });
    expect(said(worker)).toContain(
      `Nothing that the program wrote to ${folder} is safe: notes.dat (8.8 KiB) is in no checkpoint format.`,
    );
    const saved = program(
      `require("node:fs").writeFileSync(${JSON.stringify(join(folder, "ckpt_5.pt"))}, "x".repeat(9000))`,
    );
    const second = await staged.startNode({ name: "untaken", run: "untaken", program: saved, flags });
    expect((await second.exited).code, said(second)).toBe(0);
  });

  test("the best checkpoint that the Trainer's state names comes back beside the newest", async () => {
    const folder = staged.folderOf("best-1");
    const state = (step: number) =>
      JSON.stringify({ global_step: step, best_model_checkpoint: "/home/me/out/checkpoint-10", log_history: [] });
    const saved = (step: number) =>
      writer(folder, {
        [`checkpoint-${step}/pytorch_model.bin`]: `weights of ${step}`,
        [`checkpoint-${step}/trainer_state.json`]: state(step),
      });
    for (const step of [10, 20, 40]) await runTo("best-1", "best", saved(step));
    const worker = await runTo("best-2", "best", PRINT_RESUME);
    expect(said(worker)).toContain("best goes on from step 40.");
    expect(said(worker)).toContain("best: safe up to step 40;");
    expect(Object.keys(readTexts(staged.folderOf("best-2"))).toSorted()).toEqual([
      "checkpoint-10/pytorch_model.bin",
      "checkpoint-10/trainer_state.json",
      "checkpoint-40/pytorch_model.bin",
      "checkpoint-40/trainer_state.json",
    ]);
    const newest = await staged.startNode({
      name: "best-3",
      run: "best",
      program: PRINT_RESUME,
      flags: ["--restore", "newest"],
    });
    expect(await newest.exited).toMatchObject({ code: 0 });
    expect(readdirSync(staged.folderOf("best-3"))).toEqual(["checkpoint-40"]);
  });

  test("--restore kept brings back all that is kept of the line, and the newest one keeps its own last.ckpt", async () => {
    const folder = staged.folderOf("kept-1");
    const saved = (step: number) =>
      writer(folder, { [`epoch=${step / 10}-step=${step}.ckpt`]: `state of ${step}`, "last.ckpt": `state of ${step}` });
    for (const step of [10, 20, 30]) await runTo("kept-1", "kept", saved(step));
    const worker = await staged.startNode({
      name: "kept-2",
      run: "kept",
      program: PRINT_RESUME,
      flags: ["--settle", "50ms", "--restore", "kept"],
    });
    expect((await worker.exited).code, said(worker)).toBe(0);
    expect(said(worker)).toContain("kept goes on from step 30.");
    const back = staged.folderOf("kept-2");
    expect(readTexts(back)).toEqual({
      "epoch=1-step=10.ckpt": "state of 10",
      "epoch=2-step=20.ckpt": "state of 20",
      "epoch=3-step=30.ckpt": "state of 30",
      "last.ckpt": "state of 30",
    });
    const told = worker.lines.filter((line) => line.includes("too: it is kept."));
    expect(told.map((line) => /step=(\d+)/.exec(line)?.[1])).toEqual(["20", "10"]);
  });

  test("weights that a program leaves deeper down at its end are kept as the final model of the run", async () => {
    const folder = staged.folderOf("deep-1");
    const out = join(folder, "outputs/2026-11-28/03-20-33");
    const script = program(`const fs = require("node:fs"), at = ${JSON.stringify(out)};
    fs.mkdirSync(at, { recursive: true });
    fs.writeFileSync(at + "/step_10.pt", "state");
    const earlier = Date.now() / 1000 - 5;
    fs.utimesSync(at + "/step_10.pt", earlier, earlier);
    fs.writeFileSync(at + "/config.json", "{}");
    fs.writeFileSync(at + "/adapter_model.bin", "weights");`);
    const worker = await runTo("deep-1", "deep", script);
    expect(said(worker)).toContain("Safe: the final model of deep");
    const files = Object.fromEntries((await staged.completeOf("deep")).map(({ role, fileCount }) => [role, fileCount]));
    expect(files).toEqual({ checkpoint: 1, "final-model": 2 });
  });

  test("the Python client names the file itself, and restores it by hand as a file", async () => {
    const name = "epoch=5-step=600.ckpt";
    await runTo("python-1", "python", writer(staged.folderOf("python-1"), { [`runs/a/${name}`]: "the state" }));
    const beside = join(staged.dir, "by-hand", name);
    const script = `import os, tidemark
path = tidemark.resume_path()
print("kind", os.path.isfile(path), "text", open(path).read(), "name", os.path.relpath(path, ${JSON.stringify(staged.folderOf("python-2"))}))
tidemark.restore(${JSON.stringify(beside)})
print("by hand", os.path.isfile(${JSON.stringify(beside)}), open(${JSON.stringify(beside)}).read())`;
    mkdirSync(staged.folderOf("python-2"), { recursive: true });
    const worker = await staged.startNode({
      name: "python-2",
      run: "python",
      program: [process.env["PYTHON"] ?? "python3", "-B", "-c", script],
      env: { PYTHONPATH: join(ROOT, "clients/python") },
      flags: ["--settle", "50ms"],
    });
    expect((await worker.exited).code, said(worker)).toBe(0);
    expect(said(worker)).toContain(`kind True text the state name runs/a/${name}`);
    expect(said(worker)).toContain("by hand True the state");
  });

  if (implementation !== "hub") return;

  test.each(FURTHER_LAYOUTS)("$run: the same files at the same places", comesBack);

  test("the steps that Orbax compares by their metrics come back beside the newest", async () => {
    const folder = staged.folderOf("orbax-1");
    const saved = (step: number) =>
      writer(folder, {
        [`${step}/_CHECKPOINT_METADATA`]: "{}",
        [`${step}/metrics/metrics`]: JSON.stringify({ distance: step === 20 ? 0 : 100 - step }),
        [`${step}/default/manifest.ocdbt`]: `state of ${step}`,
        [`${step}/commit_success.txt`]: "done",
      });
    for (const step of [10, 20]) await runTo("orbax-1", "orbax", saved(step));
    // Its manager keeps the best two.
    rmSync(join(folder, "10"), { recursive: true });
    await runTo("orbax-1", "orbax", saved(30));
    await runTo("orbax-2", "orbax", PRINT_RESUME);
    expect(readTexts(staged.folderOf("orbax-2"))).toEqual(readTexts(folder));
    expect(readdirSync(folder).toSorted()).toEqual(["20", "30"]);
  });

  test("a hub is told what is in no checkpoint format", async () => {
    const { rows } = await staged
      .stage()
      .client.events.list.query({ nodeId: null, run: "untaken", cursor: null, limit: 50 });
    // The alert rule "nothing-safe" goes by the operation.
    const told = rows.find(({ kind, fault }) => kind === "capture-refused" && fault?.op === ENDED_UNSAFE);
    expect(told?.text).toContain("notes.dat");
  });
});
