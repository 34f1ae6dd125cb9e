import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/**
 * Training comes first: the worker takes the processor and the disk only when nobody else wants them. What it starts
 * inherits that, so a program is started before, and before it is started again the worker has to come back, which not
 * every container allows.
 */
/** A third of the share of a program beside it when both want all of a core; lower ones starve beside busy data loaders. */
const LOW = 5;
/** The last of those that share a disk, before those that only get it when it is idle. */
const LOW_IO = ["-c", "2", "-n", "7"];
const CAP_SYS_NICE = 23n;
const IONICE_MS = 2_000;

/** As the worker was started, since it stepped aside. */
let before: { nice: number; io: readonly string[] } | null = null;

/**
 * Best effort: where the system does not let it, everything works all the same. It waits for both, so that what is started
 * next begins as it is meant to.
 */
export function stepAside(): void {
  const nice = getPriority();
  before ??= { nice, io: ioClassOf(ionice(["-p", String(process.pid)])) };
  setNice(Math.max(nice, LOW));
  if (before.io[1] !== "3") setIo(LOW_IO);
}

/** Before a program is started again. Whoever asked `canComeBack` first gets there. */
export function comeBack(): void {
  if (before === null) return;
  setNice(before.nice);
  setIo(before.io);
}

/** Whether a process with this status (`/proc/self/status`) and these limits may raise its priority again. */
export function canComeBack(read = readText): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(read("/proc/self/status"))?.[1];
  if (effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_SYS_NICE) & 1n) === 1n) return true;
  // A limit of 20 is nice 0.
  const limit = /^Max nice priority\s+(\S+)/m.exec(read("/proc/self/limits"))?.[1];
  return limit === "unlimited" || Number(limit ?? 0) >= 20;
}

/** Pure: what sets an I/O priority again that `ionice -p` told: `best-effort: prio 4`, `idle`, `none: prio 0`. */
export function ioClassOf(told: string): readonly string[] {
  const [, name, level] = /^([a-z-]+)(?:: prio (\d))?/.exec(told) ?? [];
  if (name === "idle") return ["-c", "3"];
  if (name === "best-effort") return ["-c", "2", "-n", level ?? "4"];
  if (name === "realtime") return ["-c", "1", "-n", level ?? "4"];
  return ["-c", "0"];
}

/** Linux keeps both for each thread; those that come later inherit them from the one that starts them. */
const threads = (): string[] => readNames("/proc/self/task");

function setNice(nice: number): void {
  // 0 is this thread, where nothing says which there are.
  for (const thread of [0, ...threads().map(Number)]) {
    try {
      setPriority(thread, nice);
    } catch {
      // It is not allowed, or the thread has ended.
    }
  }
}

function setIo(wanted: readonly string[]): void {
  const all = threads();
  if (all.length > 0) ionice([...wanted, "-p", ...all]);
}

/** What it printed; empty where there is none. */
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
