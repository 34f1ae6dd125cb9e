import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { codeOf } from "../base/disk-fault.ts";

/** Processes of this machine as /proc shows them; where there is none, nothing is known. */

export interface ProcessEntry {
  pid: number;
  parent: number;
  session: number;
  /** In the kernel's ticks since its start: together with the pid it names one process, because pids are used again. */
  startedAt: string;
}

/** Fields of `/proc/PID/stat` behind the command, from 0. */
const STAT = { state: 0, parent: 1, session: 3, startedAt: 19 };

/** Returns what `/proc/PID/stat` says of a process that has not ended; null otherwise. */
export function readProcess(pid: number): ProcessEntry | null {
  const text = readText(`/proc/${pid}/stat`);
  // The command in parentheses may hold spaces and parentheses of its own.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, startedAt] = [fields[STAT.state] ?? "", fields[STAT.startedAt]];
  if (startedAt === undefined || state === "Z" || state === "X") return null;
  return { pid, parent: Number(fields[STAT.parent]), session: Number(fields[STAT.session]), startedAt };
}

/** Lists the processes that have not ended. */
export function listProcesses(): ProcessEntry[] {
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.flatMap((pid) => readProcess(Number(pid)) ?? []);
  } catch {
    return [];
  }
}

/** Returns a variable of the environment that a process was started with; null where it has none, or may not be read. */
export function readVariable(pid: number, name: string): string | null {
  const found = readText(`/proc/${pid}/environ`)
    .split("\0")
    .find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? null;
}

/** Returns the words of its command line. */
export const readCommandLine = (pid: number): string[] => readText(`/proc/${pid}/cmdline`).split("\0");

/** Whether paths mean the same to a process as to this one. */
export function sharesPaths(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`) === readlinkSync("/proc/self/ns/mnt");
  } catch {
    return false;
  }
}

/** Returns the name of its program, as `ps` shows it; empty when it has ended. */
export const readName = (pid: number): string => readText(`/proc/${pid}/comm`).trimEnd();

/** Signals as bits: number 1 is the lowest. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
export interface SignalMasks {
  /** Has a handler, or waits for it in another way. */
  caught: bigint;
  ignored: bigint;
}

/** Returns what a process does with signals; null where that is not told. */
export function readSignalMasks(pid: number): SignalMasks | null {
  const text = readText(`/proc/${pid}/status`);
  const [caught, blocked, ignored] = ["SigCgt", "SigBlk", "SigIgn"].map(
    (field) => new RegExp(`^${field}:\\s*([0-9a-f]+)`, "m").exec(text)?.[1],
  );
  if (caught === undefined || blocked === undefined || ignored === undefined) return null;
  return { caught: BigInt(`0x${caught}`) | BigInt(`0x${blocked}`), ignored: BigInt(`0x${ignored}`) };
}

/** Returns the pipe behind a file descriptor, by the name that both of its ends have; null where there is none. */
export function readPipeOf(pid: number, fd: number): string | null {
  try {
    const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    return target.startsWith("pipe:") ? target : null;
  } catch {
    return null;
  }
}

/** Sends a signal to the process that is meant, and to no other that got its number. Returns whether it may be signalled. */
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
