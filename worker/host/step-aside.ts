import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { setPriority } from "node:os";

/**
 * Training comes first: the worker takes the processor and the disk only when nobody else wants them. What it starts
 * inherits that, so a program is started before, and before it is started again the worker has to come back, which not
 * every container allows.
 */
/** A third of the share of a program beside it when both want all of a core; lower ones starve beside busy data loaders. */
const LOW = 5;
const CAP_SYS_NICE = 23n;

/** Best effort: where the system does not let it, everything works all the same. */
export function stepAside(): void {
  try {
    setPriority(0, LOW);
  } catch {
    return;
  }
  // Every thread has its own; those that come later inherit it.
  const threads = readNames("/proc/self/task");
  if (threads.length > 0) execFile("ionice", ["-c", "2", "-n", "7", "-p", ...threads], () => undefined);
}

/** Before a program is started again. */
export function comeBack(): void {
  try {
    setPriority(0, 0);
  } catch {
    // Whoever asked `canComeBack` first does not get here.
  }
}

/** Whether a process with this status (`/proc/self/status`) and these limits may raise its priority again. */
export function canComeBack(read = readText): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(read("/proc/self/status"))?.[1];
  if (effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_SYS_NICE) & 1n) === 1n) return true;
  // A limit of 20 is nice 0.
  const limit = /^Max nice priority\s+(\S+)/m.exec(read("/proc/self/limits"))?.[1];
  return limit === "unlimited" || Number(limit ?? 0) >= 20;
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
