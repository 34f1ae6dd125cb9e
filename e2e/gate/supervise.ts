import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { accessSync, chmodSync, constants, mkdtempSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { descendantsOf, listProcesses, type ProcessEntry, stillRunning } from "./process-tree.ts";
import { becomeSubreaper } from "./subreaper.ts";

/**
 * Runs a program of the project and ends everything that it started, however the run ends.
 *
 * node e2e/gate/supervise.ts PROGRAM [arguments]
 *
 * `ready.mjs` starts this supervisor in a session of its own and holds the other end of descriptor 3. It writes the names of
 * signals that it receives. When the descriptor closes, `ready.mjs` has ended for whatever reason. The program then has
 * GRACE_MS to stop before it and all its descendants are killed. Temporary files of the run are in one folder on the disk
 * and one in memory, which are removed. A stop allows REMOVE_MS for that; the next run removes the rest.
 */

const CONTROL_FD = 3;
const MEMORY = "/dev/shm";
const GRACE_MS = 3_000;
const REMOVE_MS = 1_000;
const KILL_AGAIN_MS = 20;
/** Limit of the wait for killed processes. One in an uninterruptible system call ends only with that call. */
const KILL_LIMIT_MS = 20_000;
/** Interval for recording descendants. Without a subreaper, they must be seen before their parents end. */
const SAMPLE_MS = 500;

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
type Signal = (typeof SIGNALS)[number];
const isSignal = (text: string): text is Signal => SIGNALS.some((name) => name === text);

const subreaper = becomeSubreaper();
const known = new Map<number, ProcessEntry>();

function sample(): void {
  for (const one of descendantsOf(process.pid)) if (!one.isZombie) known.set(one.pid, one);
}

/** Kills all descendants, including those started meanwhile, until none is left. */
async function killAll(own: number): Promise<void> {
  const deadline = performance.now() + KILL_LIMIT_MS;
  for (;;) {
    subreaper?.reap(own);
    sample();
    const left = stillRunning([...known.values()]);
    known.clear();
    for (const one of left) {
      known.set(one.pid, one);
      try {
        process.kill(one.pid, "SIGKILL");
      } catch {
        // The process has just ended.
      }
    }
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      console.error(`These processes could not be ended: ${left.map(({ pid }) => pid).join(", ")}.`);
      return;
    }
    await pause(KILL_AGAIN_MS);
  }
}

/** Removes a run's temporary folder, after unmounting what is mounted inside. */
async function removeFolder(folder: string): Promise<void> {
  if (process.platform === "linux") {
    const mounted = readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[1] ?? "")
      .filter((place) => place.startsWith(`${folder}/`));
    for (const place of mounted.toReversed()) spawnSync("umount", ["-l", place], { stdio: "ignore" });
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
}

/** Returns the folders that hold temporary folders of runs: on the disk, then in memory where the system has that. */
function parents(): string[] {
  try {
    accessSync(MEMORY, constants.W_OK);
    return [tmpdir(), MEMORY];
  } catch {
    return [tmpdir()];
  }
}

/** Removes the folders of runs whose supervisor has ended without doing so. */
async function removeLeftovers(): Promise<void> {
  const running = new Set(listProcesses().map(({ pid }) => pid));
  for (const parent of parents()) {
    for (const name of readdirSync(parent)) {
      const owner = /^tm-(\d+)-/.exec(name)?.[1];
      if (owner !== undefined && !running.has(Number(owner))) await removeFolder(join(parent, name));
    }
  }
}

function exitCodeOf(child: ChildProcess, stoppedBy: Signal | null): number {
  if (child.exitCode !== null) return child.exitCode;
  return stoppedBy === "SIGINT" || child.signalCode === "SIGINT" ? 130 : child.signalCode === "SIGHUP" ? 129 : 143;
}

async function main(): Promise<number> {
  const [program = "", ...args] = process.argv.slice(2);
  // A short name, because sockets are below it, and their paths are limited to 107 bytes.
  const folders = parents().map((parent) => realpathSync(mkdtempSync(join(parent, `tm-${process.pid}-`))));
  // Other users can reach files that a test puts there, but cannot list the folders.
  for (const folder of folders) chmodSync(folder, 0o711);
  const [folder, memory = folder] = folders;
  const child = spawn(process.execPath, [program, ...args], {
    stdio: "inherit",
    env: { ...process.env, TMPDIR: folder, GATE_MEMORY: memory, GATE_SUPERVISOR: String(process.pid) },
  });
  const own = child.pid ?? 0;
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  let stoppedBy: Signal | null = null;
  const stop = (signal: Signal): void => {
    // A second signal kills at once.
    if (stoppedBy !== null) child.kill("SIGKILL");
    else {
      stoppedBy = signal;
      child.kill(signal);
      setTimeout(() => child.kill("SIGKILL"), GRACE_MS).unref();
    }
  };
  if (subreaper === null) setInterval(sample, SAMPLE_MS).unref();
  else process.on("SIGCHLD", () => subreaper.reap(own));
  for (const signal of SIGNALS) process.on(signal, () => stop(signal));
  // A closed terminal must not end this process before it has cleaned up.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const door = new Socket({ fd: CONTROL_FD, readable: true, writable: false });
  door.on("data", (chunk: Buffer) => {
    for (const name of chunk.toString().split("\n")) if (isSignal(name)) stop(name);
  });
  door.on("error", () => undefined);
  door.on("close", () => {
    if (stoppedBy === null) stop("SIGTERM");
  });
  door.unref();
  void removeLeftovers();
  await ended;
  await killAll(own);
  const removed = Promise.all(folders.map(removeFolder));
  await (stoppedBy === null ? removed : Promise.race([removed, pause(REMOVE_MS)]));
  return exitCodeOf(child, stoppedBy);
}

process.exit(await main());
