import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { commandOf, descendantsOf, listProcesses } from "../gate/process-tree.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT, type RunningProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** `tidemark run` whose worker is killed with -9 and whose program is not: two programs never write one folder. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");
const isAlive = (pid: number) => listProcesses().some((one) => one.pid === pid && !one.isZombie);

/** For programs: nobody may have waited for one that has ended. */
const LIVES = `(pid) => { try { return !/\\) [ZX] /.test(fs.readFileSync("/proc/" + pid + "/stat", "utf8")); } catch { return false; } }`;

/**
 * A program that writes its number into LOG, and `two` when another of them still runs. It goes on until KILL, and so do two
 * processes that it starts: one in a session of its own, one with an empty environment. `once` ends by itself.
 */
const STUBBORN = `const fs = require("fs"), { spawn } = require("child_process"), [log, kind] = process.argv.slice(1);
  const before = fs.existsSync(log) ? fs.readFileSync(log, "utf8").match(/\\d+/g) ?? [] : [];
  const lives = ${LIVES};
  if (before.some(lives)) fs.appendFileSync(log, "two\\n");
  const child = 'process.on("SIGTERM", () => {}); require("fs").appendFileSync(process.argv[1], "child " + process.pid + "\\\\n"); setInterval(() => {}, 1000)';
  if (kind === "once") process.exit(0);
  process.on("SIGTERM", () => {});
  spawn(process.execPath, ["-e", child, log], { detached: true, stdio: "ignore" });
  spawn(process.execPath, ["-e", child, log], { env: {}, stdio: "ignore" });
  fs.appendFileSync(log, "program " + process.pid + "\\n");
  setInterval(() => {}, 1000);`;

interface Told {
  log: string;
  pids(): number[];
  isTwo(): boolean;
}

function logOf(name: string): Told {
  const log = join(stage.dir, `${name}.log`);
  const text = () => (existsSync(log) ? readFileSync(log, "utf8") : "");
  return {
    log,
    pids: () => [...text().matchAll(/\d+/g)].map(([pid]) => Number(pid)),
    isTwo: () => text().includes("two"),
  };
}

const stubborn = ({ log }: Told, kind = "long") => [process.execPath, "-e", STUBBORN, log, kind];

/** Kills the worker alone, or its watchdog with it, as the system does when memory is short. */
function kill(worker: RunningProcess, about: { withWatchdog: boolean }): void {
  const below = descendantsOf(worker.pid);
  const watchdogs = below.filter(({ pid }) => commandOf(pid).includes("tidemark-watchdog"));
  if (about.withWatchdog) for (const { pid } of watchdogs) process.kill(pid, "SIGKILL");
  process.kill(worker.pid, "SIGKILL");
}

test("a program that ignores TERM ends with its killed worker, and so do its children in other sessions", async () => {
  const told = logOf("alone");
  const worker = await stage.startNode({
    name: "alone",
    run: "alone",
    flags: ["--grace", "1s"],
    program: stubborn(told),
  });
  await waitUntil("program and children run", () => told.pids().length === 3);
  kill(worker, { withWatchdog: false });
  await waitUntil("nothing of it is left", () => !told.pids().some(isAlive));
});

test("a program that is stopped (Ctrl-Z) when its worker is killed gets TERM, too", async () => {
  const told = logOf("stopped");
  const script = `const fs = require("fs"), [log] = process.argv.slice(1);
    process.on("SIGTERM", () => { fs.appendFileSync(log, " TERM"); process.exit(0); });
    fs.appendFileSync(log, String(process.pid));
    setInterval(() => {}, 1000);`;
  const program = [process.execPath, "-e", script, told.log];
  const worker = await stage.startNode({ name: "stopped", run: "stopped", flags: ["--grace", "2s"], program });
  await waitUntil("it runs", () => told.pids().length === 1);
  const [pid = 0] = told.pids();
  process.kill(pid, "SIGSTOP");
  kill(worker, { withWatchdog: false });
  await waitUntil("it has ended", () => !isAlive(pid));
  expect(readFileSync(told.log, "utf8")).toContain("TERM");
});

test("where nobody was left to end it, the next start does before it starts another", async () => {
  const told = logOf("again");
  const node = { name: "again", run: "again", flags: ["--grace", "1s"] };
  const first = await stage.startNode({ ...node, program: stubborn(told) });
  await waitUntil("program and children run", () => told.pids().length === 3);
  kill(first, { withWatchdog: true });
  const left = told.pids();
  const second = await stage.startNode({ ...node, program: stubborn(told, "once") });
  expect(await second.exited).toMatchObject({ code: 0 });
  expect(said(second)).toMatch(/Still running from an earlier start: node \(processes [\d, ]+\)\. It is ended first/);
  expect(said(second)).toContain("node of the earlier start was killed.");
  expect(left.some(isAlive)).toBe(false);
  expect(told.isTwo()).toBe(false);
});

test("a worker that is killed before it could write down which process it started leaves enough to find it", async () => {
  const told = logOf("between");
  const node = { name: "between", run: "between", flags: ["--grace", "1s", "--orphan", "wait"] };
  // Its first act is to kill the worker; what the worker may have written in that moment is taken back.
  const program = ["/bin/sh", "-c", 'kill -9 $PPID; exec "$@"', "sh", ...stubborn(told)];
  const first = await stage.startNode({ ...node, program });
  expect(await first.exited).toMatchObject({ signal: "SIGKILL" });
  await waitUntil("program and children run", () => told.pids().length === 3);
  const records = join(stage.dir, "nodes", "between", "state", "programs");
  const [name = ""] = readdirSync(records);
  const record = JSON.parse(readFileSync(join(records, name), "utf8")) as Record<string, unknown>;
  writeFileSync(join(records, name), JSON.stringify({ ...record, process: null }));
  const second = await stage.startNode({
    ...node,
    flags: ["--grace", "1s"],
    program: stubborn(told, "once"),
  });
  expect(await second.exited).toMatchObject({ code: 0 });
  expect(said(second)).toContain("Still running from an earlier start");
  expect(told.pids().some(isAlive)).toBe(false);
  expect(told.isTwo()).toBe(false);
});

test("it is found by the folder that it writes, too, when the state folder is another", async () => {
  const told = logOf("elsewhere");
  const flags = ["--grace", "1s", "--orphan", "wait"];
  const first = await stage.startNode({ name: "elsewhere", run: "elsewhere", flags, program: stubborn(told) });
  await waitUntil("program and children run", () => told.pids().length === 3);
  kill(first, { withWatchdog: true });
  const second = await stage.startNode({
    name: "elsewhere-2",
    run: "elsewhere",
    watch: stage.folderOf("elsewhere"),
    flags: ["--orphan", "refuse"],
    program: stubborn(told, "once"),
  });
  expect(await second.exited).toMatchObject({ code: 4 });
  expect(said(second)).toContain("The program of an earlier start still runs, without its worker");
  for (const pid of told.pids()) process.kill(pid, "SIGKILL");
});

test("a start that waits keeps what the program saves safe, and goes on where it ended", async () => {
  const folder = stage.folderOf("waits");
  mkdirSync(folder, { recursive: true });
  const hold = join(folder, "hold");
  writeFileSync(hold, "");
  const program = (steps: number) => [
    process.execPath,
    join(ROOT, "e2e/stage/training-program.ts"),
    folder,
    String(steps),
  ];
  const node = { name: "waits", run: "waits", flags: ["--orphan", "wait"] };
  const first = await stage.startNode({ ...node, program: program(3) });
  await waitUntil("the first one is saved", () => said(first).includes("saved 10"));
  kill(first, { withWatchdog: true });
  const second = await stage.startNode({ ...node, program: program(1) });
  await waitUntil("it waits", () => said(second).includes("Its checkpoints are kept safe until it ends"));
  const safe = async () => {
    const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("waits") });
    return checkpoints.filter(({ state }) => state === "complete").map(({ step }) => step);
  };
  await waitUntil("what it saved is safe while it runs", async () => (await safe()).includes(10));
  expect(said(second)).not.toContain("starts at");
  rmSync(hold);
  expect(await second.exited).toMatchObject({ code: 0 });
  expect(said(second)).toContain("starts at 30");
  expect(Math.max(...(await safe()))).toBe(40);
});

test("two at once are refused: in one state folder, and for one watched folder", async () => {
  const told = logOf("twice");
  const node = { name: "twice", run: "twice", flags: ["--grace", "1s"] };
  const first = await stage.startNode({ ...node, program: stubborn(told) });
  await waitUntil("program and children run", () => told.pids().length === 3);
  const again = await stage.startNode({ ...node, program: stubborn(told) });
  expect(await again.exited).toMatchObject({ code: 4 });
  const watch = stage.folderOf("twice");
  const other = await stage.startNode({ ...node, name: "twice-2", watch, program: stubborn(told) });
  expect(await other.exited).toMatchObject({ code: 4 });
  for (const refused of [again, other])
    expect(said(refused)).toContain("Another Tidemark process is using this folder");
  expect(said(other)).toContain(`${watch}: Another Tidemark process`);
  expect(told.pids().filter(isAlive)).toHaveLength(3);
  await first.stop("SIGKILL");
});

test("what a launcher that failed left behind is ended before it is started again", async () => {
  const log = join(stage.dir, "launcher.log");
  const trainer = `process.on("SIGTERM", () => {}); require("fs").appendFileSync(${JSON.stringify(log)}, process.pid + "\\n"); setInterval(() => {}, 1000)`;
  const launcher = `const { spawn } = require("child_process"), fs = require("fs");
    const lives = ${LIVES};
    const before = fs.existsSync(${JSON.stringify(log)}) ? fs.readFileSync(${JSON.stringify(log)}, "utf8").trim().split("\\n") : [];
    if (before.length > 0) { console.log("left " + before.filter(lives).length); process.exit(0); }
    spawn(process.execPath, ["-e", ${JSON.stringify(trainer)}], { detached: true, stdio: "ignore" });
    setInterval(() => fs.existsSync(${JSON.stringify(log)}) && process.exit(3), 20);`;
  const worker = await stage.startNode({
    name: "launcher",
    run: "launcher",
    flags: ["--restart", "on-failure", "--grace", "1s"],
    program: [process.execPath, "-e", launcher],
  });
  expect(await worker.exited).toMatchObject({ code: 0 });
  expect(said(worker)).toContain("left 0");
});
