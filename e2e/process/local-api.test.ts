import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LocalStatus } from "#protocol/local-api/local.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { runOnce } from "../stage/run-once.ts";
import { ROOT, type RunningProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** What programs and people on a node ask of its worker, through the socket in its state folder. */
/** The last line of `--json`. */
type Line = { code?: string; state?: string; runs?: LocalStatus["runs"] } & Record<string, unknown>;
const jsonOf = (outcome: { stdout: string }): Line =>
  JSON.parse(outcome.stdout.trim().split("\n").at(-1) ?? "{}") as Line;
const write = (folder: string, step: number) =>
  writeCheckpoint({ folder, step, modelBytes: 1024 * 1024, optimizerBytes: 0, loss: 1 });

/** Words of a status for the hub, or the bucket, that the worker asks. */
const ASKED = {
  hub: "; the hub answers (http://",
  alone: "; no hub: it works alone, and the bucket answers.",
} as const;
const UNKNOWN_RUN = { hub: [4, "NOT_THIS_NODES"], alone: [3, "NOT_FOUND"] } as const;

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  const tidemark = (node: string, args: string[]) =>
    runOnce(testedWorker(), [...args, "--state", staged.stateOf(node), "--json"]);
  async function safeSteps(run: string): Promise<number[]> {
    return (await staged.completeOf(run)).map(({ step }) => step);
  }

  describe("a worker that would wait an hour for quiet", () => {
    let worker: RunningProcess;
    beforeAll(async () => {
      worker = await staged.startNode({ name: "asked", run: "story", flags: ["--settle", "1h", "--local-port", "0"] });
      await waitUntil("the worker answers", async () => (await tidemark("asked", ["status"])).code === 0);
    });

    test("takes a checkpoint at once when its program says that it is finished, and says when it is safe", async () => {
      const path = write(staged.folderOf("asked"), 10);
      const saved = await tidemark("asked", ["save", path]);
      expect(saved.code).toBe(0);
      expect(jsonOf(saved)).toMatchObject({ type: "saved", run: "story", step: 10, state: "done", files: 3 });
      expect(await safeSteps("story")).toEqual([10]);
      // The same again is known.
      expect(jsonOf(await tidemark("asked", ["save", path]))).toMatchObject({ id: null, step: 10, state: "done" });
    });

    test("takes a folder that it does not watch, for the run and the step that it is told", async () => {
      const path = join(staged.dir, "elsewhere");
      mkdirSync(path);
      writeFileSync(join(path, "weights.bin"), "weights");
      const outcome = await tidemark("asked", ["save", path, "--run", "other"]);
      expect(outcome.code).toBe(2);
      expect(outcome.stdout).toContain("tells the step: say which one it is");
      expect((await tidemark("asked", ["save", path, "--run", "other", "--step", "7"])).code).toBe(0);
      expect(await safeSteps("other")).toEqual([7]);
      writeFileSync(join(path, "trainer_state.json"), JSON.stringify({ global_step: 9 }));
      expect((await tidemark("asked", ["save", path, "--run", "trainer"])).code).toBe(0);
      expect(await safeSteps("trainer")).toEqual([9]);
    });

    test("refuses what its own files call unfinished, and what is not there", async () => {
      const path = write(join(staged.dir, "torn"), 20);
      truncateSync(join(path, "model.safetensors"), 1000);
      const torn = await tidemark("asked", ["save", path]);
      expect(torn.code).toBe(1);
      expect(jsonOf(torn)).toMatchObject({ type: "fault", code: "NOT_FINISHED" });
      const missing = await tidemark("asked", ["save", join(staged.dir, "nothing-here")]);
      expect(jsonOf(missing)).toMatchObject({ code: "NOT_FOUND" });
      expect(missing.code).toBe(3);
    });

    test("flush takes what is finished in its folders and answers when that is safe", async () => {
      const marker = join(write(staged.folderOf("asked"), 30), ".complete");
      writeFileSync(marker, "");
      const between = join(staged.folderOf("asked"), "checkpoint-31");
      mkdirSync(between);
      writeFileSync(join(between, "model.bin"), "its optimizer comes next");
      expect(await ask("POST /v1/flush", {})).toEqual([200, { pending: 0, error: null }]);
      expect(await safeSteps("story")).toContain(30);
      expect(await safeSteps("story")).not.toContain(31);
      expect(await ask("GET /v1/state")).toEqual([200, { pending: 0, error: null }]);
    });

    test("restores the newest checkpoint, or that of a step, where it is asked to", async () => {
      const target = join(staged.dir, "restored");
      const newest = await tidemark("asked", ["restore", "story", target]);
      expect(jsonOf(newest)).toMatchObject({ type: "restored", run: "story", step: 30, path: target });
      expect(hashFolder(target)).toEqual(hashFolder(join(staged.folderOf("asked"), "checkpoint-30")));
      const older = await tidemark("asked", ["restore", "story@10", join(staged.dir, "older")]);
      expect(jsonOf(older)).toMatchObject({ step: 10 });
      const none = await tidemark("asked", ["restore", "story@11", join(staged.dir, "none")]);
      expect([none.code, jsonOf(none).code]).toEqual([3, "NOT_FOUND"]);
      const strange = await tidemark("asked", ["restore", "nobody-wrote-this", join(staged.dir, "none")]);
      // A hub hands a node no run but its own; who has the keys of a bucket may read all of it.
      expect([strange.code, jsonOf(strange).code]).toEqual(UNKNOWN_RUN[implementation]);
    });

    test("its status tells what is safe, in words, as JSON and to Prometheus", async () => {
      const status = jsonOf(await tidemark("asked", ["status"]));
      expect(status).toMatchObject({
        type: "status",
        node: "asked",
        pending: 0,
        hub: { isUp: true },
        otherWriters: [],
      });
      expect(status.runs?.find(({ run }) => run === "story")).toMatchObject({ safeStep: 30, unsafeCheckpoints: 0 });
      const words = await runOnce(testedWorker(), ["status", "--state", staged.stateOf("asked")], {});
      expect(words.stdout).toContain(ASKED[implementation]);
      expect(words.stdout).toMatch(/story: safe up to step 30 \(the (?:file|folder) [^)]+\); nothing waits/);
      const [code, metrics] = await ask("GET /metrics");
      expect(code).toBe(200);
      expect(metrics).toContain('tidemark_worker_safe_step{run="story"} 30');
    });

    test("what is paused for a run holds for what comes later, and goes on when it is resumed", async () => {
      expect(jsonOf(await tidemark("asked", ["pause", "story"]))).toMatchObject({ type: "steered", uploads: 0 });
      const saved = await tidemark("asked", ["save", write(staged.folderOf("asked"), 40), "--no-wait"]);
      expect([saved.code, jsonOf(saved).state]).toEqual([0, "waiting"]);
      // Another run goes on meanwhile.
      const other = write(join(staged.dir, "other"), 8);
      expect((await tidemark("asked", ["save", other, "--run", "other", "--priority", "high"])).code).toBe(0);
      expect(await safeSteps("story")).not.toContain(40);
      // A flush of that one answers for it alone.
      expect(await ask("POST /v1/flush", { run: "other" })).toEqual([200, { pending: 0, error: null }]);
      expect(await ask("GET /v1/state")).toMatchObject([200, { pending: 1 }]);
      const status = await runOnce(testedWorker(), ["status", "--state", staged.stateOf("asked")], {});
      expect(status.stdout).toMatch(
        /story: .* 1 checkpoints, .* not yet safe.*; .+ and 10 steps would be lost now\. Its uploads are paused\./,
      );
      await tidemark("asked", ["resume", "story"]);
      await waitUntil("it is safe", async () => (await safeSteps("story")).includes(40));
    });

    test("a cancelled upload is never safe, and its program keeps its files", async () => {
      await tidemark("asked", ["pause"]);
      const path = write(staged.folderOf("asked"), 50);
      await tidemark("asked", ["save", path, "--no-wait"]);
      expect((await tidemark("asked", ["cancel"])).code).toBe(2);
      expect(jsonOf(await tidemark("asked", ["cancel", "story@50"]))).toMatchObject({ uploads: 1 });
      await tidemark("asked", ["save", write(staged.folderOf("asked"), 55), "--no-wait"]);
      expect(jsonOf(await tidemark("asked", ["cancel", "--all"]))).toMatchObject({ run: null, uploads: 1 });
      await tidemark("asked", ["resume"]);
      expect(await ask("POST /v1/flush", {})).toEqual([200, { pending: 0, error: null }]);
      expect(await safeSteps("story")).not.toContain(50);
      expect(Object.keys(hashFolder(path))).toContain("model.safetensors");
    });

    test("a program is told where it writes its steps, of runs that are written here, and what it wrote is known", async () => {
      const path = join(staged.stateOf("asked"), "steps", "story.step");
      expect(await ask("POST /v1/record", {})).toEqual([200, { run: "story", path, version: 1 }]);
      expect((await ask("POST /v1/record", { run: "nobody-wrote-this" }))[0]).toBe(404);
      const socket = join(staged.stateOf("asked"), "local.sock");
      const env = { ...process.env, TIDEMARK_SOCKET: socket, PYTHONPATH: join(ROOT, "clients/python") };
      execFileSync(
        process.env["PYTHON"] ?? "python3",
        ["-c", "import tidemark; tidemark.step(76); tidemark.step(77)"],
        {
          env,
        },
      );
      // Its word was of the step before.
      const status = jsonOf(await tidemark("asked", ["status"]));
      expect(status.runs?.find(({ run }) => run === "story")).toMatchObject({ trainedStep: 77 });
    });

    test("what cannot be asked is said, with what can", async () => {
      const [code, answer] = await ask("POST /v1/sav", {});
      expect(code).toBe(404);
      expect(JSON.stringify(answer)).toContain("POST /v1/save");
      const [bad, why] = await ask("POST /v1/save", { path: "relative" });
      expect(bad).toBe(400);
      expect(JSON.stringify(why)).toContain("an absolute path");
      const [wrong, field] = await ask("POST /v1/step", { step: "ten" });
      expect([wrong, JSON.stringify(field)]).toEqual([400, expect.stringContaining("step")]);
    });

    /** On loopback, with the token from the state folder. */
    async function ask(asked: string, body?: object): Promise<[number, unknown]> {
      const url = await waitUntil("its address", () => /local API at (http:[^,]+)/.exec(worker.lines.join("\n"))?.[1]);
      const [method = "", path = ""] = asked.split(" ");
      const authorization = `Bearer ${readFileSync(join(staged.stateOf("asked"), "local.token"), "utf8").trim()}`;
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`${url}${path}`, { method, headers: { authorization }, ...sent });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json") === true;
      return [response.status, isJson && text !== "" ? (JSON.parse(text) as unknown) : text];
    }
  });

  test("a worker whose state folder has a long path is found by its program, commands and the Python client, and never denied", async () => {
    const name = `deep-${"x".repeat(58)}`;
    const python = process.env["PYTHON"] ?? "python3";
    const asks = `${python} -c 'import tidemark; print("answered", len(tidemark.status()["runs"]))'`;
    const PYTHONPATH = join(ROOT, "clients/python");
    const worker = await staged.startNode({
      name,
      run: "deep",
      program: ["sh", "-c", `${asks}; exec sleep 1000`],
      env: { PYTHONPATH },
    });
    await waitUntil("its program asked it", () => worker.lines.some((line) => line.includes("answered 1")));
    const state = staged.stateOf(name);
    expect((await tidemark(name, ["status"])).code).toBe(0);
    expect((await tidemark(name, ["save", write(staged.folderOf(name), 10)])).code).toBe(0);
    const env = { ...process.env, TIDEMARK_STATE: state, PYTHONPATH };
    expect(execFileSync("sh", ["-c", asks], { env, encoding: "utf8" })).toContain("answered 1");
    unlinkSync(join(state, "local.sock"));
    const status = await tidemark(name, ["status"]);
    expect([status.code, jsonOf(status)]).toMatchObject([3, { running: true, answers: false }]);
    const said = await runOnce(testedWorker(), ["status", "--state", state]);
    expect(said.stdout).toMatch(/^A worker runs on .* \(process \d+\), but does not answer at /);
    await worker.stop();
    expect(jsonOf(await tidemark(name, ["status"]))).toMatchObject({ running: false });
  });

  test("without a worker, save does it alone and status says that none runs", async () => {
    const path = write(join(staged.dir, "alone-source"), 50);
    const idle = await tidemark("alone", ["status"]);
    expect(idle.code).toBe(3);
    expect(jsonOf(idle)).toEqual({ type: "status", running: false, pending: 0, bytes: 0, aside: [] });
    const nowhere = await tidemark("alone", ["save", path, "--run", "alone"]);
    expect(nowhere.code).toBe(2);
    expect(nowhere.stdout).toContain("no worker runs on this state folder");
    const saved = await staged.joining("alone", ["save", path, "--run", "alone", "--json"]);
    expect(saved.code).toBe(0);
    expect(jsonOf(saved)).toMatchObject({ type: "saved", state: "done", step: 50 });
    expect(await safeSteps("alone")).toEqual([50]);
  });
});
