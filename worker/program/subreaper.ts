import { subscribe } from "node:diagnostics_channel";
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { endianness } from "node:os";
import { KOFFI, loadNative } from "../base/load-native.ts";
import type { Foreign, Koffi } from "../base/system-calls.ts";
import { readProcess } from "../host/list-processes.ts";

/**
 * Makes this process adopt its descendants when their own parents end (PR_SET_CHILD_SUBREAPER). A program that forks twice
 * into a new session with an empty environment can be found in no other way. Without Koffi, or on systems other than
 * Linux, nothing is adopted.
 * https://man7.org/linux/man-pages/man2/pr_set_child_subreaper.2const.html
 */
export interface Subreaper {
  /** Whether processes are adopted, so that this process learns how they end. */
  readonly isAdopting: boolean;
  /** Returns the running children that this process did not start itself, and reaps those that have ended. */
  adopted(): number[];
  /** Calls `listener` for each adopted process that has ended and is reaped from now on. */
  onEnded(listener: (end: AdoptedEnd) => void): void;
}

export interface AdoptedEnd {
  pid: number;
  /** Status of `waitpid`: 0 only after an exit with code 0. */
  status: number;
}

/** Constants of `sys/prctl.h` and `sys/wait.h`. */
const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;

let made: Subreaper | null = null;

/** Makes this process a subreaper. Must be called before starting processes whose descendants matter. */
export function becomeSubreaper(): Subreaper {
  made ??= adoptBy(process.platform === "linux" ? (loadNative(KOFFI) as Koffi | null) : null);
  return made;
}

function adoptBy(koffi: Koffi | null): Subreaper {
  const waitpid = koffi === null ? null : startAdopting(koffi);
  if (waitpid === null) return { isAdopting: false, adopted: () => [], onEnded: () => undefined };
  const before = new Set(children());
  const started = new Set<ChildProcess>();
  subscribe("child_process", (message) => {
    const { process: child } = message as { process: ChildProcess };
    started.add(child);
    // At `exit`, libuv has already reaped the child.
    child.once("exit", () => started.delete(child));
    child.once("error", () => child.pid === undefined && started.delete(child));
  });
  const listeners = new Set<(end: AdoptedEnd) => void>();
  const reap = (pid: number) => {
    const status = Buffer.alloc(4);
    if (waitpid(pid, status, WNOHANG) !== pid) return;
    for (const tell of listeners)
      tell({ pid, status: endianness() === "LE" ? status.readInt32LE() : status.readInt32BE() });
  };
  return {
    isAdopting: true,
    onEnded: (listener) => void listeners.add(listener),
    adopted: () => {
      const own = new Set([...started].map(({ pid }) => pid));
      const others = children().filter((pid) => !own.has(pid) && !before.has(pid));
      return others.filter((pid) => {
        if (readProcess(pid) !== null) return true;
        reap(pid);
        return false;
      });
    },
  };
}

/** Sets the subreaper attribute and returns `waitpid`; null where that fails. */
function startAdopting(koffi: Koffi): Foreign | null {
  try {
    const library = koffi.load(null);
    const prctl = library.func("prctl", "int", ["int", "ulong", "ulong", "ulong", "ulong"]);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) !== 0) return null;
    return library.func("waitpid", "int", ["int", "void *", "int"]);
  } catch {
    return null;
  }
}

/** Returns all children. Those of the main thread suffice: it starts processes, and the kernel gives it the adopted ones. */
function children(): number[] {
  try {
    const text = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
