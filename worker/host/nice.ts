import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/**
 * Lowers the worker's CPU and I/O priority, so that training comes first. Child processes inherit the priority. Therefore
 * the program is started first, and before a restart the worker has to raise its priority again, which not every
 * container allows.
 */
/** Gives the worker a third of a nice-0 program's share of a core; at higher values busy data loaders starve the worker. */
const LOW = 5;
/** Lowest best-effort I/O priority, just above the idle class. */
const LOW_IO = ["-c", "2", "-n", "7"];
const CAP_SYS_NICE = 23n;
const IONICE_MS = 2_000;

/** Priorities with which the worker was started; null until `lowerPriority`. */
let before: { nice: number; io: readonly string[] } | null = null;

/**
 * Lowers both priorities as far as the system permits; failures are ignored. It is synchronous, so that a process started
 * next inherits the right priority.
 */
export function lowerPriority(): void {
  const nice = getPriority();
  before ??= { nice, io: ioClassOf(ionice(["-p", String(process.pid)])) };
  setNice(Math.max(nice, LOW));
  if (before.io[1] !== "3") setIo(LOW_IO);
}

/** Restores both priorities, before a program is started again. Succeeds only where `canRestorePriority` is true. */
export function restorePriority(): void {
  if (before === null) return;
  setNice(before.nice);
  setIo(before.io);
}

/** Tells whether this process may raise its priority again, by `/proc/self/status` and `/proc/self/limits`. */
export function canRestorePriority(read = readText): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(read("/proc/self/status"))?.[1];
  if (effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_SYS_NICE) & 1n) === 1n) return true;
  // RLIMIT_NICE counts from 20 downwards: a limit of 20 permits nice 0.
  const limit = /^Max nice priority\s+(\S+)/m.exec(read("/proc/self/limits"))?.[1];
  return limit === "unlimited" || Number(limit ?? 0) >= 20;
}

/** Returns the ionice flags for a priority that `ionice -p` printed: `best-effort: prio 4`, `idle`, `none: prio 0`. Pure. */
export function ioClassOf(told: string): readonly string[] {
  const [, name, level] = /^([a-z-]+)(?:: prio (\d))?/.exec(told) ?? [];
  if (name === "idle") return ["-c", "3"];
  if (name === "best-effort") return ["-c", "2", "-n", level ?? "4"];
  if (name === "realtime") return ["-c", "1", "-n", level ?? "4"];
  return ["-c", "0"];
}

/** Lists the threads of this process: Linux keeps both priorities per thread, and a new thread inherits those of its creator. */
const threads = (): string[] => readNames("/proc/self/task");

function setNice(nice: number): void {
  // 0 is the current thread, for systems without /proc.
  for (const thread of [0, ...threads().map(Number)]) {
    try {
      setPriority(thread, nice);
    } catch {
      // Not permitted, or the thread has ended.
    }
  }
}

function setIo(wanted: readonly string[]): void {
  const all = threads();
  if (all.length > 0) ionice([...wanted, "-p", ...all]);
}

/** Runs ionice and returns its output; empty where it is not installed. */
function ionice(args: readonly string[]): string {
  const { stdout } = spawnSync("ionice", args, { encoding: "utf8", timeout: IONICE_MS });
  return stdout ?? "";
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function readNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
