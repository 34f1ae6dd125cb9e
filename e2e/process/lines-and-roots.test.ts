import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { notPromised } from "../stage/json-lines.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** Several watched folders of one run, and lines of training that branch off: with a hub, and without one. */

const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");

/** A program that writes these files in their order, 100 ms apart so that the last one is the newest, and prints its resume path. */
const writer = (files: readonly (readonly [string, string])[]) => `
  const fs = require("node:fs");
  console.log("resumes at [" + process.env.TIDEMARK_RESUME_PATH + "]");
  const files = ${JSON.stringify(files)};
  const next = () => {
    const one = files.shift();
    if (one === undefined) return;
    fs.writeFileSync(one[0], one[1]);
    setTimeout(next, 100);
  };
  next();`;

/** A size of which two do not wait for each other: at `SLOWLY` one takes seconds. */
const SLOW_BYTES = 300_000;
const SLOWLY = ["--limit-up", "150KB"];

/** A program that writes two steps of a line, and begins anew while both wait to be sent. */
const beginsAnew = (folder: string) => `
  const { writeFileSync } = require("node:fs");
  const steps = [[100, ${SLOW_BYTES}], [200, ${SLOW_BYTES}], [50, 10]];
  const next = () => {
    const step = steps.shift();
    if (step === undefined) return;
    writeFileSync(${JSON.stringify(folder)} + "/ckpt_" + step[0] + ".pt", "x".repeat(step[1]));
    setTimeout(next, 1000);
  };
  next();`;

/** All files below a folder, with their texts. */
const read = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );

/** The folders that a node watches for one run. */
const rootsOf = (folder: string) => ({ model: folder, buffer: join(folder, "..", "buffer") });
const trained = (folder: string) => {
  const { model, buffer } = rootsOf(folder);
  return writer([
    [join(buffer, "buffer_100.pt"), "buffer at 100"],
    [join(model, "model_200.pt"), "model at 200"],
  ]);
};

describe("with a hub", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.close());

  async function start(name: string, run: string, about: { script: string; flags?: string[] }) {
    mkdirSync(rootsOf(stage.folderOf(name)).buffer, { recursive: true });
    mkdirSync(stage.folderOf(name), { recursive: true });
    const flags = ["--settle", "50ms", ...(about.flags ?? [])];
    const worker = await stage.startNode({ name, run, program: [process.execPath, "-e", about.script], flags });
    expect((await worker.exited).code, said(worker)).toBe(0);
    return worker;
  }

  test("each checkpoint of two watched folders comes back into its own", async () => {
    const roots = (name: string) => rootsOf(stage.folderOf(name));
    const watch = (name: string) => ["--watch", roots(name).buffer];
    await start("two-1", "two", { script: trained(stage.folderOf("two-1")), flags: watch("two-1") });
    const { checkpoints } = await stage.client.runs.get.query({ run: "two" });
    expect(checkpoints.map(({ step, place }) => [step, place?.path, place?.root])).toEqual([
      [200, "model_200.pt", { index: 0, name: "checkpoints" }],
      [100, "buffer_100.pt", { index: 1, name: "buffer" }],
    ]);
    const second = await start("two-2", "two", { script: writer([]), flags: watch("two-2") });
    const { model, buffer } = roots("two-2");
    expect(read(model)).toEqual({ "model_200.pt": "model at 200" });
    expect(read(buffer)).toEqual({ "buffer_100.pt": "buffer at 100" });
    expect(said(second)).toContain(`resumes at [${join(model, "model_200.pt")}]`);
  });

  test("what waits to be sent when a new line begins is kept safe as the newest of its own line", async () => {
    const script = beginsAnew(stage.folderOf("waits-1"));
    const worker = await start("waits-1", "waits", { script, flags: SLOWLY });
    const view = await stage.client.runs.get.query({ run: "waits" });
    // A busy machine looks so late that step 200 is there too, and passes step 100 over.
    const rows = view.checkpoints.filter(({ step }) => step !== 100);
    expect(
      rows.map(({ writerEpoch, step }) => [writerEpoch, step]),
      said(worker),
    ).toEqual([
      [2, 50],
      [1, 200],
    ]);
    expect(view.newestStep).toBe(50);
  });

  test("a line that begins while the hub is away is opened when it is back, and nothing of it is passed over", async () => {
    const name = "away-1";
    const folder = stage.folderOf(name);
    mkdirSync(folder, { recursive: true });
    const agent = await stage.startNode({ name, run: "away", flags: ["--settle", "50ms"] });
    const write = (step: number) => writeFileSync(join(folder, `ckpt_${step}.pt`), `trained to ${step}`);
    const captured = async (step: number) => {
      write(step);
      await waitUntil(`step ${step} is captured`, () => said(agent).includes(`Captured away step ${step}:`));
    };
    await captured(200);
    await waitUntil("step 200 is safe", () => said(agent).includes("Safe: away step 200"));
    process.kill(-stage.hub.pid, "SIGSTOP");
    try {
      for (const step of [300, 50, 60, 10]) await captured(step);
    } finally {
      process.kill(-stage.hub.pid, "SIGCONT");
    }
    const safe = async () => {
      const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("away") });
      return checkpoints
        .filter(({ state }) => state === "complete")
        .map(({ writerEpoch, step }) => [writerEpoch, step]);
    };
    await waitUntil("the last step of each line is safe", async () => (await safe()).length === 4);
    expect(await safe(), said(agent)).toEqual([
      [3, 10],
      [2, 60],
      [1, 300],
      [1, 200],
    ]);
    const view = await stage.client.runs.get.query({ run: runName.parse("away") });
    expect(view.newestStep).toBe(10);
    expect(view.epochs.map(({ epoch, branch }) => [epoch, branch?.after ?? null, branch?.step ?? null])).toEqual([
      [3, { epoch: 2, step: 60 }, 10],
      [2, { epoch: 1, step: 300 }, 50],
      [1, null, null],
    ]);
    await agent.stop();
  });

  test("a program that does not go on from what was restored is told on the hub, with the line that it begins", async () => {
    const at = (name: string, file: string) => join(stage.folderOf(name), file);
    await start("anew-1", "anew", { script: writer([[at("anew-1", "ckpt_200.pt"), "trained"]]) });
    const second = await start("anew-2", "anew", { script: writer([[at("anew-2", "ckpt_50.pt"), "anew"]]) });
    const place = at("anew-2", "ckpt_200.pt");
    const words = `was given step 200 and began at the beginning: it wrote ckpt_50.pt beside ${place}, with a name of the same form, so it most likely loads no checkpoint`;
    expect(said(second)).toContain(`The program of anew ${words}.`);
    const view = await stage.client.runs.get.query({ run: "anew" });
    expect(view.newestStep).toBe(50);
    expect(view.passedOver).toMatchObject([
      { given: { epoch: 1, step: 200 }, fromStep: null, path: place, nodeName: "anew-2" },
    ]);
    expect(view.epochs.map(({ epoch, branch }) => [epoch, branch])).toEqual([
      [3, { from: { epoch: 1, step: 200 }, after: { epoch: 2, step: 200 }, step: 50 }],
      [2, null],
      [1, null],
    ]);
    const asked = { nodeId: null, run: "anew", cursor: null, limit: 20, kinds: ["began-elsewhere"] };
    const { rows } = await stage.client.events.list.query(asked);
    expect(rows.map(({ text }) => text)).toEqual([`saw that the program of anew ${words}`]);
  });
});

describe("without a hub", () => {
  let alone: Alone;
  beforeAll(async () => {
    alone = await openAlone();
  });
  afterAll(() => closeAlone(alone));

  async function start(name: string, run: string, about: { program: string; flags?: string[] }) {
    mkdirSync(rootsOf(folderOf(alone, name)).buffer, { recursive: true });
    const node = await startAlone(alone, { name, run, prefix: "ckpts", ...about });
    expect((await node.exited).code, said(node)).toBe(0);
    return node;
  }
  const tidemark = (...args: string[]) =>
    runOnce(testedWorker(), [...args, "--to", `s3://${alone.store.bucket}/ckpts`], {
      env: { ...keysInEnv(alone.store), TIDEMARK_STATE: join(alone.dir, "laptop") },
    });

  test("each checkpoint of two watched folders comes back into its own, and keeping keeps both", async () => {
    const flags = (name: string) => ["--watch", rootsOf(folderOf(alone, name)).buffer, "--keep", "last=1"];
    await start("one", "two", { program: trained(folderOf(alone, "one")), flags: flags("one") });
    await start("other", "two", { program: writer([]), flags: flags("other") });
    const { model, buffer } = rootsOf(folderOf(alone, "other"));
    expect(read(model)).toEqual({ "model_200.pt": "model at 200" });
    expect(read(buffer)).toEqual({ "buffer_100.pt": "buffer at 100" });
  });

  test("what waits to be sent when a new line begins is kept safe as the newest of its own line", async () => {
    const node = await start("waits", "waits", { program: beginsAnew(folderOf(alone, "waits")), flags: SLOWLY });
    const listed = await tidemark("runs", "waits", "--json");
    const { steps } = JSON.parse(listed.stdout) as { steps: { writerEpoch: number; step: number }[] };
    expect(
      steps.map(({ step }) => step).filter((step) => step !== 100),
      said(node),
    ).toEqual([50, 200]);
  });

  test("the commands tell the place of each checkpoint, where a line branches off, and what a restore writes where", async () => {
    const at = (name: string, file: string) => join(folderOf(alone, name), file);
    await start("a", "anew", { program: writer([[at("a", "ckpt_200.pt"), "trained"]]) });
    await start("b", "anew", { program: writer([[at("b", "ckpt_50.pt"), "anew"]]) });
    const listed = await tidemark("runs", "anew");
    expect(listed.stdout).toContain("step 50, 4 B, the file ckpt_50.pt, ");
    expect(listed.stdout).toContain(
      "epoch 3 is a new line: it counts from step 50; its program was given step 200 of epoch 1",
    );
    const json = await tidemark("runs", "anew", "--json");
    expect(notPromised([json.stdout])).toEqual([]);
    const place = { path: "ckpt_50.pt", kind: "file", stepSource: "name" };
    expect(JSON.parse(json.stdout)).toMatchObject({
      steps: [{ step: 50, place }, { step: 200 }],
      epochs: [{ epoch: 3, branch: { from: { epoch: 1, step: 200 }, step: 50 } }, { epoch: 2 }, { epoch: 1 }],
    });
    const inspected = await tidemark("inspect", "anew@50");
    expect(inspected.stdout).toContain("Place: the file ckpt_50.pt in the watched folder; its name says the step");
    expect(inspected.stdout).toContain("Lineage: epoch 3 is a new line");
    const facts = await tidemark("inspect", "anew@50", "--json");
    expect(notPromised([facts.stdout])).toEqual([]);
    expect(JSON.parse(facts.stdout)).toMatchObject({
      type: "checkpoint",
      place,
      files: [{ path: "ckpt_50.pt", sizeBytes: 4 }],
    });
    const file = join(alone.dir, "out", "ckpt_50.pt");
    const would = await tidemark("restore", "anew@50", join(alone.dir, "out", "x"), "--dry-run");
    expect(would.stdout).toContain("Its own place is the file ckpt_50.pt in the watched folder.");
    const restored = await tidemark("restore", "anew@50", file, "--json");
    const line = restored.stdout.trim().split("\n").at(-1) ?? "";
    expect(notPromised([line])).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({ type: "restored", path: file, place, kind: "file" });
    expect(readFileSync(file, "utf8")).toBe("anew");
  });
});
