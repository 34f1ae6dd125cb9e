import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { createRandom } from "../faults/random.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** `tidemark run -- CMD` around a program that writes its checkpoints in place, file by file. */
const TRAIN = join(ROOT, "e2e/stage/training-program.ts");
const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  const train = (node: string, ...args: (string | number)[]) => [
    process.execPath,
    TRAIN,
    staged.folderOf(node),
    ...args.map(String),
  ];

  async function newestSafe(run: string): Promise<number | null> {
    const steps = (await staged.completeOf(run)).map(({ step }) => step);
    return steps.length === 0 ? null : Math.max(...steps);
  }

  test("a program starts from the beginning, what it saves is safe when it has ended, and its exit code is ours", async () => {
    const worker = await staged.startNode({ name: "first", run: "story", program: train("first", 3, 7) });
    expect(await worker.exited).toMatchObject({ code: 7 });
    expect(said(worker)).toContain("story starts from the beginning.");
    expect(said(worker)).toContain("starts at 0");
    expect(await newestSafe("story")).toBe(30);
  });

  test("on another machine it goes on from the newest safe checkpoint", async () => {
    const worker = await staged.startNode({ name: "second", run: "story", program: train("second", 1) });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("story goes on from step 30.");
    expect(said(worker)).toContain("starts at 30");
    expect(await newestSafe("story")).toBe(40);
  });

  test("back on the first machine, what it had before another took over does not count", async () => {
    const worker = await staged.startNode({ name: "first", run: "story", program: train("first", 1) });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("starts at 40");
    expect(await newestSafe("story")).toBe(50);
  });

  test("SIGTERM reaches the program, and what it saves last becomes safe within the grace", async () => {
    const folder = staged.folderOf("asked");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "hold"), "");
    const worker = await staged.startNode({
      name: "asked",
      run: "asked",
      flags: ["--grace", "30s"],
      program: train("asked", 100),
    });
    await waitUntil("the first one is saved", () => said(worker).includes("saved 10"));
    expect(await worker.stop("SIGTERM")).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("saved 11");
    expect(await newestSafe("asked")).toBe(11);
  });

  test("killed at random moments, program and all, it never goes on from a torn checkpoint", async () => {
    const random = createRandom(7);
    const folder = staged.folderOf("torn");
    const node = { name: "torn", run: "torn", program: train("torn", 1_000) };
    let reached = 0;
    for (let kills = 0; kills < 6; kills++) {
      const worker = await staged.startNode(node);
      await waitUntil("it trains", () => said(worker).includes("starts at ") || said(worker).includes("ended with"));
      expect(said(worker)).not.toMatch(/The program ended with 4[23]/);
      const startedAt = Number(/starts at (\d+)/.exec(said(worker))?.[1]);
      expect(startedAt).toBeGreaterThanOrEqual(reached);
      reached = startedAt;
      const until = performance.now() + 150 + random.next() * 600;
      await waitUntil("the moment of the kill", () => performance.now() >= until);
      await worker.stop("SIGKILL");
    }
    const last = await staged.startNode({ ...node, program: train("torn", 1) });
    expect(await last.exited).toMatchObject({ code: 0 });
    const step = Number(/saved (\d+)/.exec(said(last))?.[1]);
    expect(await newestSafe("torn")).toBe(step);
    // Each torn one is kept, and what was whole is in the bucket.
    const torn = readdirSync(folder).filter((name) => name.startsWith(".set-aside-"));
    expect(torn.filter((name) => !name.startsWith(".set-aside-unfinished-"))).toEqual([]);
  });

  test("a program that fails is started again where it left off, as often as was asked for", async () => {
    const worker = await staged.startNode({
      name: "again",
      run: "again",
      flags: ["--restart", "on-failure:1"],
      program: train("again", 1, 5),
    });
    expect(await worker.exited).toMatchObject({ code: 5 });
    expect(said(worker)).toContain("The program failed (5); it is started again in 1 s.");
    expect(said(worker)).toContain("starts at 10");
    expect(await newestSafe("again")).toBe(20);
  });

  test("only names that match a pattern are checkpoints, by their last number", async () => {
    const script = `const fs = require("fs"), path = require("path");
    for (const name of ["weights-v2-40", "step_50"]) {
      fs.mkdirSync(path.join(process.argv[1], name), { recursive: true });
      fs.writeFileSync(path.join(process.argv[1], name, "model.bin"), name);
    }`;
    const node = { name: "pattern", run: "pattern", flags: ["--pattern", "weights-*", "--pattern", "w-*"] };
    const worker = await staged.startNode({
      ...node,
      program: [process.execPath, "-e", script, staged.folderOf("pattern")],
    });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(await newestSafe("pattern")).toBe(40);
  });

  // The tests below do not depend on who is asked, or need a hub.
  if (implementation !== "hub") return;

  test("the last words of a program that failed reach the hub, and go on to our own streams", async () => {
    const script = "console.log('loading'); console.error('RuntimeError: CUDA out of memory'); process.exit(9)";
    const worker = await staged.startNode({ name: "words", run: "words", program: [process.execPath, "-e", script] });
    expect(await worker.exited).toMatchObject({ code: 9 });
    expect(said(worker)).toContain("RuntimeError: CUDA out of memory");
    const run = runName.parse("words");
    const { rows } = await staged.stage().client.events.list.query({ nodeId: null, run, cursor: null, limit: 10 });
    const ended = rows.find(({ kind }) => kind === "program-ended");
    expect(ended?.text).toMatch(/^saw the program of words end with 9 after /);
    expect(ended?.detail?.split("\n").toSorted()).toEqual(["", "RuntimeError: CUDA out of memory", "loading"]);
  });

  test("a program that is not there is said, with the code that shells give it", async () => {
    const worker = await staged.startNode({ name: "missing", run: "missing", program: ["no-such-program-anywhere"] });
    expect(await worker.exited).toMatchObject({ code: 127 });
    expect(said(worker)).toContain("no-such-program-anywhere: The program was not found");
  });

  test("a script whose interpreter is not there is named with it", async () => {
    const started = async (name: string, firstLine: string) => {
      const script = join(staged.dir, `${name}.sh`);
      writeFileSync(script, `${firstLine}\necho never\n`, { mode: 0o755 });
      const worker = await staged.startNode({ name, run: name, program: [script] });
      expect(await worker.exited).toMatchObject({ code: 126 });
      return said(worker);
    };
    expect(await started("windows", "#!/bin/sh\r")).toMatch(/interpreter \/bin\/sh\\u000d.*lines end as on Windows/);
    expect(await started("lost", "#! /opt/no/python3 -u")).toMatch(
      /interpreter \/opt\/no\/python3, which is not there\)/,
    );
  });

  test("without a program or a folder it says what is missing", async () => {
    const worker = await staged.startNode({ name: "empty", run: "empty", program: [] });
    expect(await worker.exited).toMatchObject({ code: 2 });
    expect(said(worker)).toContain("the program is missing");
    rmSync(staged.folderOf("empty"), { recursive: true });
  });

  test("as the first process of a container it takes the ends of processes that nobody waits for", async () => {
    // Starts children that end after their parent did: what is not waited for then stays as a zombie.
    const script = `const { spawnSync } = require("child_process"), fs = require("fs");
    for (let count = 0; count < 5; count++) spawnSync("sh", ["-c", "sleep 2 & exit 0"], { stdio: "ignore" });
    const states = () => fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).flatMap((pid) => {
      try { return [fs.readFileSync("/proc/" + pid + "/stat", "utf8")]; } catch { return []; }
    });
    const sleepers = () => states().filter((stat) => stat.includes("(sleep)"));
    let [orphans, looksUntil] = [0, Date.now() + 20000];
    const look = () => {
      // At first its parent is a shell of the program. Afterwards it is process 1, or the worker as a subreaper.
      const shells = states().filter((stat) => /^[0-9]{2,} \\(sh\\)/.test(stat)).map((stat) => stat.split(" ")[0]);
      const now = sleepers().filter((stat) => !/ Z /.test(stat) && !shells.includes(stat.split(" ")[3])).length;
      orphans = Math.max(orphans, now);
      if (orphans > 0 && sleepers().every((stat) => stat.includes(") Z ")) || Date.now() > looksUntil) {
        console.log("orphans " + orphans);
        setTimeout(() => { console.log("zombies " + sleepers().length); process.exit(0); }, 200);
      } else setTimeout(look, 20);
    };
    look();`;
    const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
    const worker = await staged.startNode({
      name: "first-process",
      run: "first-process",
      program: [process.execPath, "-e", script],
      under: ["unshare", ...user, "--pid", "--fork", "--kill-child", "--mount-proc"],
    });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("orphans 5");
    expect(said(worker)).toContain("zombies 0");
  });
});
