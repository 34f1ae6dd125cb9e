import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { listProcesses } from "../gate/process-tree.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT, commandOf } from "../stage/start-process.ts";
import { testedWorker, WORKER_SOURCES } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** `tidemark run` around what is not one process: shells, pipelines, launchers, daemons, and readers that leave. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const TRAIN = join(ROOT, "e2e/stage/training-program.ts");
const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");
const isAlive = (pid: number) => listProcesses().some((one) => one.pid === pid && !one.isZombie);
const logOf = (name: string) => join(stage.dir, `${name}.log`);
const read = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : "");

async function newestSafe(run: string): Promise<number | null> {
  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(run) });
  const sound = checkpoints.filter(({ state, doubt }) => state === "complete" && doubt === null);
  const steps = sound.map(({ step }) => step);
  return steps.length === 0 ? null : Math.max(...steps);
}

/** A training program that is held after its first checkpoint, and says its number. `$TRAIN` in a script of a shell. */
function holding(name: string): string {
  const folder = stage.folderOf(name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "hold"), "");
  return `'${process.execPath}' '${TRAIN}' '${folder}' 100`;
}

/**
 * Writes a checkpoint as accelerate's save_state does, which says nowhere that it is finished, and another one when it is told
 * to end. Notes beside the folder that it runs, and each signal.
 */
const SAVES = `
import os, signal, sys, time
folder, log, code = sys.argv[1:]
def note(line):
    with open(log, "a") as file: file.write(line + "\\n")
def save(step):
    path = os.path.join(folder, "step_%d" % step)
    os.makedirs(path)
    for name in ("model.safetensors", "optimizer.bin", "random_states_0.pkl"):
        with open(os.path.join(path, name), "wb") as file: file.write(bytes([step]) * 65536)
        time.sleep(0.1)
def stop(number, _):
    note(signal.Signals(number).name)
    # The step that is under way is finished first.
    time.sleep(1)
    save(99)
    sys.exit(int(code))
for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, stop)
save(10)
note("pid %d" % os.getpid())
while True: signal.pause()
`;
function saving(name: string, code = 0): string {
  const folder = stage.folderOf(name);
  mkdirSync(folder, { recursive: true });
  return `python3 -c '${SAVES}' '${folder}' '${logOf(name)}' ${code}`;
}

/** Writes a script of a shell beside the log, and returns the command that becomes it. */
function scriptOf(log: string, text: string): string {
  writeFileSync(`${log}.sh`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return `exec '${log}.sh'`;
}

/** Takes signals, then notes its number and each signal; ends at the first TERM or INT when it is told to. */
const NOTES = `const fs = require("fs"), [log, ends] = process.argv.slice(1);
  for (const name of ["SIGTERM", "SIGINT", "SIGUSR1"]) process.on(name, () => {
    fs.appendFileSync(log, name + "\\n");
    if (ends === "ends" && name !== "SIGUSR1") setTimeout(() => process.exit(0), 300);
  });
  fs.appendFileSync(log, "pid " + process.pid + "\\n");
  setInterval(() => {}, 1000);`;
const notes = (name: string, ends: "ends" | "stays") =>
  `'${process.execPath}' -e '${NOTES.replaceAll("\n", " ")}' '${logOf(name)}' ${ends}`;
const pidsIn = (name: string) => [...read(logOf(name)).matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));

describe("SIGTERM", () => {
  test.each([
    ["a pipeline", (train: string, log: string) => `${train} | tee '${log}'`, 143],
    ["a list of commands", (train: string) => `${train}; true`, 143],
    ["a shell with a trap", (train: string) => `trap 'echo trapped' TERM; ${train}; exit 5`, 5],
  ])("reaches the training in %s, and what it saves last becomes safe", async (title, script, code) => {
    const name = title.replaceAll(" ", "-");
    const worker = await stage.startNode({
      name,
      run: name,
      flags: ["--grace", "60s"],
      program: ["sh", "-c", script(holding(name), logOf(name))],
    });
    await waitUntil("the first one is saved", () => said(worker).includes("saved 10"));
    expect(await worker.stop("SIGTERM")).toMatchObject({ code });
    expect(said(worker)).toContain("saved 11");
    expect(await newestSafe(name)).toBe(11);
  });

  /** The single file has no native modules: it adopts nothing, and learns from /proc how the training ended. */
  const ENTRIES = [
    ["with native modules", WORKER_SOURCES],
    ["of the single file", join(ROOT, "dist/tidemark.mjs")],
  ] as const;

  test.each(
    ENTRIES.flatMap(([kind, entry]) => [
      ["a pipeline", kind, entry, (train: string, log: string) => `${train} | tee '${log}'`] as const,
      ["a list of commands", kind, entry, (train: string) => `${train}; true`] as const,
      ["a shell with a trap", kind, entry, (train: string) => `trap 'echo trapped' TERM; ${train}; exit 5`] as const,
      ["a shell in a shell", kind, entry, (train: string) => `(${train}; true); true`] as const,
      ["a script of a shell", kind, entry, (train: string, log: string) => scriptOf(log, `${train}; true`)] as const,
    ]),
  )(
    "leaves no doubt about what was saved last in %s, by a worker %s, in a layout that does not mark its end",
    async (...about) => {
      const [title, kind, entry, write] = about;
      const name = `unmarked-${title.replaceAll(" ", "-")}-${kind.length}`;
      const program = ["sh", "-c", write(saving(name), `${logOf(name)}.tee`)];
      const worker = await stage.startNode({ name, run: name, flags: ["--grace", "60s"], program, entry });
      await waitUntil("it trains", () => pidsIn(name).length === 1);
      await worker.stop("SIGTERM");
      expect(said(worker)).not.toContain("It is doubtful");
      expect(await newestSafe(name)).toBe(99);
      expect(pidsIn(name).some(isAlive)).toBe(false);
    },
  );

  test.each(ENTRIES)(
    "leaves what was saved last in doubt where the training below a shell failed, by a worker %s",
    async (title, entry) => {
      const name = `unmarked-failed-${title.length}`;
      const program = ["sh", "-c", `${saving(name, 1)}; true`];
      const worker = await stage.startNode({ name, run: name, flags: ["--grace", "60s"], program, entry });
      await waitUntil("it trains", () => pidsIn(name).length === 1);
      await worker.stop("SIGTERM");
      expect(said(worker)).toContain("It is doubtful");
      expect(await newestSafe(name)).not.toBe(99);
    },
  );

  test("reaches the training in the background of a shell whose trap does not pass it on, once, within the grace", async () => {
    const script = `trap 'echo trapped' TERM; ${saving("kept-back")} & P=$!; while kill -0 $P 2>/dev/null; do wait $P; done`;
    const about = { name: "kept-back", run: "kept-back", flags: ["--grace", "20s"], program: ["sh", "-c", script] };
    const worker = await stage.startNode(about);
    await waitUntil("it trains", () => pidsIn("kept-back").length === 1);
    await worker.stop("SIGTERM");
    expect(said(worker)).toContain("trapped");
    expect(said(worker)).not.toContain("did not end within");
    expect(read(logOf("kept-back")).match(/SIGTERM/g)).toHaveLength(1);
    expect(await newestSafe("kept-back")).toBe(99);
  });

  test("is not sent to what a launcher passes it on to", async () => {
    const launcher = `const { spawn } = require("child_process");
      const child = spawn("sh", ["-c", process.argv[1]], { stdio: "inherit" });
      process.on("SIGTERM", () => process.kill(-process.pid, "SIGUSR1"));
      process.on("SIGUSR1", () => {});
      child.on("exit", () => process.exit(0));`;
    const worker = await stage.startNode({
      name: "launcher",
      run: "launcher",
      flags: ["--grace", "4s"],
      program: [process.execPath, "-e", launcher, `exec ${notes("launcher", "stays")}`],
    });
    await waitUntil("the child runs", () => pidsIn("launcher").length === 1);
    await worker.stop("SIGTERM");
    expect(read(logOf("launcher"))).toMatch(/SIGUSR1/);
    expect(read(logOf("launcher"))).not.toMatch(/SIGTERM/);
    expect(pidsIn("launcher").some(isAlive)).toBe(false);
  });

  test("that a program does not end by is followed by KILL within the grace, which is said with its length", async () => {
    const worker = await stage.startNode({
      name: "short",
      run: "short",
      flags: ["--grace", "2s"],
      program: ["sh", "-c", `${notes("short", "stays")}; true`],
    });
    await waitUntil("it runs", () => pidsIn("short").length === 1);
    await worker.stop("SIGTERM");
    expect(said(worker)).toMatch(/node \(process \d+\) did not end within --grace 2 s and was killed/);
    expect(read(logOf("short")).match(/SIGTERM/g)).toHaveLength(1);
    expect(pidsIn("short").some(isAlive)).toBe(false);
  });

  test("twice leaves nothing of the program behind", async () => {
    const worker = await stage.startNode({
      name: "twice",
      run: "twice",
      flags: ["--grace", "10m"],
      program: ["sh", "-c", `${notes("twice", "stays")}; true`],
    });
    await waitUntil("it runs", () => pidsIn("twice").length === 1);
    process.kill(worker.pid, "SIGTERM");
    await waitUntil("it was told", () => read(logOf("twice")).includes("SIGTERM"));
    process.kill(worker.pid, "SIGTERM");
    expect(await worker.exited).toMatchObject({ code: 143 });
    expect(pidsIn("twice").some(isAlive)).toBe(false);
  });

  test("reaches a program that was stopped (Ctrl-Z), and what it saves last becomes safe", async () => {
    // A name for each try: a second one would go on from the step of the first.
    const name = `stopped-${randomUUID().slice(0, 8)}`;
    const worker = await stage.startNode({
      name,
      run: name,
      flags: ["--grace", "60s"],
      program: ["sh", "-c", `echo "shell $$"; ${holding(name)}; true`],
    });
    await waitUntil("the first one is saved", () => said(worker).includes("saved 10"));
    const shell = Number(/shell (\d+)/.exec(said(worker))?.[1]);
    for (const { pid } of listProcesses().filter(({ pid, parent }) => pid === shell || parent === shell))
      process.kill(pid, "SIGSTOP");
    expect(await worker.stop("SIGTERM")).toMatchObject({ code: 143 });
    expect(said(worker)).toContain("saved 11");
    expect(await newestSafe(name)).toBe(11);
  });

  test("works the same for the first process of a container", async () => {
    const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
    const worker = await stage.startNode({
      name: "contained",
      run: "contained",
      flags: ["--grace", "60s"],
      program: ["sh", "-c", `${holding("contained")} | tee '${logOf("contained")}'`],
      under: ["unshare", ...user, "--pid", "--fork", "--kill-child", "--mount-proc"],
    });
    await waitUntil("the first one is saved", () => said(worker).includes("saved 10"));
    const first = listProcesses().find(({ parent }) => parent === worker.pid);
    process.kill(first?.pid ?? 0, "SIGTERM");
    expect(await worker.exited).toMatchObject({ code: 143 });
    expect(await newestSafe("contained")).toBe(11);
  });
});

test("a signal by which programs agree goes past a shell that would die of it", async () => {
  const worker = await stage.startNode({
    name: "agreed",
    run: "agreed",
    program: ["sh", "-c", `${notes("agreed", "ends")}; true`],
  });
  await waitUntil("it runs", () => pidsIn("agreed").length === 1);
  process.kill(worker.pid, "SIGUSR1");
  await waitUntil("it was told", () => read(logOf("agreed")).includes("SIGUSR1"));
  expect(pidsIn("agreed").every(isAlive)).toBe(true);
  await worker.stop("SIGTERM");
});

test("what a program leaves running when it ends is named and ended, also when it holds the output open", async () => {
  const worker = await stage.startNode({
    name: "daemon",
    run: "daemon",
    program: ["sh", "-c", `${notes("daemon", "ends")} & sleep 1; exit 0`],
  });
  expect(await worker.exited).toMatchObject({ code: 0 });
  expect(said(worker)).toMatch(/Still running after the program ended: node \(process \d+\)\. It is ended too/);
  expect(pidsIn("daemon").some(isAlive)).toBe(false);
});

test("with --orphan wait it is left alone, and does not hold us by the output that it keeps open", async () => {
  const worker = await stage.startNode({
    name: "kept",
    run: "kept",
    flags: ["--orphan", "wait"],
    program: ["sh", "-c", `${notes("kept", "ends")} & sleep 1; exit 0`],
  });
  expect(await worker.exited).toMatchObject({ code: 0 });
  expect(said(worker)).toMatch(/Still running after the program ended: .*left alone/);
  const [pid = 0] = pidsIn("kept");
  expect(isAlive(pid)).toBe(true);
  process.kill(pid, "SIGKILL");
});

test.each(["stdout", "stderr"] as const)("a reader of %s that leaves does not end the program", async (stream) => {
  const done = join(stage.dir, `${stream}.done`);
  const to = stream === "stdout" ? "" : " 1>&2";
  const script = `i=0; while [ $i -lt 3000 ]; do echo 'a line of training output that is about eighty characters long, more or less'${to}; i=$((i+1)); done; echo done > '${done}'`;
  const folder = stage.folderOf(`reader-${stream}`);
  mkdirSync(folder, { recursive: true });
  const [program, ...before] = commandOf(testedWorker());
  const args = ["run", "--hub", stage.hub.url, "--state", join(stage.dir, `reader-${stream}`), "--watch", folder];
  const worker = spawn(program, [...before, ...args, "--run", `reader-${stream}`, "--", "sh", "-c", script], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TIDEMARK_TOKEN: stage.token, NODE_ENV: "production" },
  });
  const exited = new Promise<number | null>((resolve) => worker.once("exit", resolve));
  const other = stream === "stdout" ? worker.stderr : worker.stdout;
  other.resume();
  let read = "";
  worker[stream].on("data", (chunk: Buffer) => {
    read += chunk.toString();
    if (read.includes("a line of training")) worker[stream].destroy();
  });
  expect(await exited).toBe(0);
  expect(existsSync(done)).toBe(true);
});

/** Runs a command at a terminal of its own: `\x03` written to it is Ctrl-C. argv: what to do, the file to wait for, the command. */
const AT_TERMINAL = `
import os, pty, select, signal, sys
how, log, command = sys.argv[1], sys.argv[2], sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    if how == "redirected":
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.execvp(command[0], command)
sent = False
while True:
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            if not os.read(terminal, 65536): break
        except OSError: break
    if not sent and os.path.exists(log) and "pid" in open(log).read():
        sent = True
        if how == "alone": os.kill(pid, signal.SIGINT)
        else: os.write(terminal, b"\\x03")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

test.each([
  ["Ctrl-C at a terminal", "terminal"],
  ["Ctrl-C at a terminal with stdin redirected", "redirected"],
  ["kill -INT of the worker alone at a terminal", "alone"],
])("%s reaches the program exactly once", async (_, how) => {
  const folder = stage.folderOf(`int-${how}`);
  mkdirSync(folder, { recursive: true });
  const log = logOf(`int-${how}`);
  const args = ["run", "--hub", stage.hub.url, "--state", join(stage.dir, `int-${how}`), "--watch", folder];
  const program = [process.execPath, "-e", NOTES, log, "ends"];
  const command = [...commandOf(testedWorker()), ...args, "--run", `int-${how}`, "--", ...program];
  const python = spawn("python3", ["-c", AT_TERMINAL, how, log, ...command], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, TIDEMARK_TOKEN: stage.token, NODE_ENV: "production" },
  });
  expect(await new Promise((resolve) => python.once("exit", resolve))).toBe(0);
  expect(read(log).match(/SIGINT/g)).toHaveLength(1);
});

test("Ctrl-C at a terminal leaves no doubt about what the training below a shell saved last", async () => {
  const name = "unmarked-int";
  const program = ["sh", "-c", `${saving(name)}; true`];
  const args = ["run", "--hub", stage.hub.url, "--state", join(stage.dir, name), "--watch", stage.folderOf(name)];
  const command = [...commandOf(testedWorker()), ...args, "--grace", "60s", "--run", name, "--", ...program];
  const python = spawn("python3", ["-c", AT_TERMINAL, "terminal", logOf(name), ...command], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, TIDEMARK_TOKEN: stage.token, NODE_ENV: "production" },
  });
  await new Promise((resolve) => python.once("exit", resolve));
  expect(read(logOf(name)).match(/SIGINT/g)).toHaveLength(1);
  expect(await newestSafe(name)).toBe(99);
});
