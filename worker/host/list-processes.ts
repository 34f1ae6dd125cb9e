import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { constants } from "node:os";
import { basename } from "node:path";
import { codeOf } from "../base/disk-fault.ts";

/** Reads processes of this machine from /proc; without /proc the results are empty. */

export interface ProcessEntry {
  pid: number;
  parent: number;
  session: number;
  /** Start time in kernel ticks since boot. With the pid it identifies one process, because pids are reused. */
  startedAt: string;
}

/** Indexes of fields in `/proc/PID/stat`, counted from 0 after the command. */
const STAT = { state: 0, parent: 1, session: 3, startedAt: 19, startCode: 23, exitCode: 49 };

/** Returns the fields of `/proc/PID/stat` after the command, which in its parentheses may itself contain spaces and parentheses. */
function readStat(pid: number): string[] {
  const text = readText(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** Returns what `/proc/PID/stat` says of a process that has not ended; null otherwise. */
export function readProcess(pid: number): ProcessEntry | null {
  const fields = readStat(pid);
  const [state, startedAt] = [fields[STAT.state] ?? "", fields[STAT.startedAt]];
  if (startedAt === undefined || state === "Z" || state === "X") return null;
  return { pid, parent: Number(fields[STAT.parent]), session: Number(fields[STAT.session]), startedAt };
}

/** Tells whether a process is stopped, as by SIGSTOP. */
export const isStopped = (pid: number): boolean => readStat(pid)[STAT.state] === "T";

/**
 * Returns the status of `waitpid` of a process that has ended and whose parent has not asked for it; `gone`: nobody can learn it
 * any more. Only where `maySeeEnd` said so before: the kernel shows 0 in place of what this process may not read.
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
export function readEnd({ pid, startedAt }: ProcessEntry): number | "running" | "gone" {
  const fields = readStat(pid);
  if (fields[STAT.startedAt] !== startedAt) return "gone";
  if (fields[STAT.state] !== "Z") return fields[STAT.state] === "X" ? "gone" : "running";
  return Number(fields[STAT.exitCode]);
}

/** Tells whether this process may read how a running process ends. The address of its code is shown as 0 or 1 where it may not. */
export const maySeeEnd = (pid: number): boolean => Number(readStat(pid)[STAT.startCode] ?? 0) > 1;

/** Lists the processes that have not ended. */
export function listProcesses(): ProcessEntry[] {
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.flatMap((pid) => readProcess(Number(pid)) ?? []);
  } catch {
    return [];
  }
}

/** Returns a variable of a process's initial environment; null where the variable is not set, or may not be read. */
export function readVariable(pid: number, name: string): string | null {
  const found = readText(`/proc/${pid}/environ`)
    .split("\0")
    .find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? null;
}

/** Returns the words of a process's command line. */
export const readCommandLine = (pid: number): string[] => readText(`/proc/${pid}/cmdline`).split("\0");

/** Tells whether a process is in the same mount namespace as this one, so that both mean the same files by a path. */
export function sharesPaths(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`) === readlinkSync("/proc/self/ns/mnt");
  } catch {
    return false;
  }
}

/** Returns the name of a process's program, as `ps` shows it; empty when the process has ended. */
export const readName = (pid: number): string => readText(`/proc/${pid}/comm`).trimEnd();

/** Returns the name of the file that a process executes, of a script that of its interpreter; empty where it may not be read. */
export function readProgramName(pid: number): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return "";
  }
}

/** Bit masks of signals; signal 1 is the lowest bit. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
export interface SignalMasks {
  /** Signals with a handler, and blocked ones, which the process may read in another way (sigwait, signalfd). */
  caught: bigint;
  ignored: bigint;
}

/** Returns how a process treats signals; null where /proc does not tell. */
export function readSignalMasks(pid: number): SignalMasks | null {
  const [caught, blocked, ignored] = readMasks(pid, ["SigCgt", "SigBlk", "SigIgn"]);
  if (caught === undefined || blocked === undefined || ignored === undefined) return null;
  return { caught: caught | blocked, ignored };
}

/** Returns the bit of a signal in a mask. */
export const bitOf = (signal: NodeJS.Signals): bigint => 1n << BigInt(constants.signals[signal] - 1);

/** Tells whether a signal waits to be delivered to a process as a whole. */
export const isSignalPending = (pid: number, signal: NodeJS.Signals): boolean =>
  ((readMasks(pid, ["ShdPnd"])[0] ?? 0n) & bitOf(signal)) !== 0n;

function readMasks(pid: number, fields: readonly string[]): (bigint | undefined)[] {
  const text = readText(`/proc/${pid}/status`);
  return fields.map((field) => {
    const mask = new RegExp(`^${field}:\\s*([0-9a-f]+)`, "m").exec(text)?.[1];
    return mask === undefined ? undefined : BigInt(`0x${mask}`);
  });
}

/** Returns the name of the pipe behind a file descriptor, the same for both ends of the pipe; null where it is no pipe. */
export function readPipeOf(pid: number, fd: number): string | null {
  try {
    const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    return target.startsWith("pipe:") ? target : null;
  } catch {
    return null;
  }
}

/** Signals a process, unless another process has got its pid since. Returns false only when signaling is not permitted. */
export function signalProcess({ pid, startedAt }: ProcessEntry, signal: NodeJS.Signals): boolean {
  if (readProcess(pid)?.startedAt !== startedAt) return true;
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
