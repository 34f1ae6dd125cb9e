import { subscribe } from "node:diagnostics_channel";
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { KOFFI, loadNative } from "../base/load-native.ts";
import type { Foreign, Koffi } from "../base/system-calls.ts";
import { readProcess } from "../host/list-processes.ts";

/**
 * Makes this process the parent of all that it started, in however many steps, once their own parents have ended
 * (PR_SET_CHILD_SUBREAPER). A program that forks twice, with a session of its own and an empty environment, carries nothing by which it
 * could be found; its parent still tells whose it is. Without Koffi, or on another system, nothing is adopted.
 * https://man7.org/linux/man-pages/man2/pr_set_child_subreaper.2const.html
 */
export interface Subreaper {
  /** Returns the children that this process did not start itself. Those of them that have ended are waited for, or they stay as zombies. */
  adopted(): number[];
}

/** From `sys/prctl.h` and `sys/wait.h`. */
const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;

let made: Subreaper | null = null;

/** Called before anything is started whose descendants matter. */
export function becomeSubreaper(): Subreaper {
  made ??= adoptBy(process.platform === "linux" ? (loadNative(KOFFI) as Koffi | null) : null);
  return made;
}

function adoptBy(koffi: Koffi | null): Subreaper {
  const waitpid = koffi === null ? null : startAdopting(koffi);
  if (waitpid === null) return { adopted: () => [] };
  const before = new Set(children());
  const started = new Set<ChildProcess>();
  subscribe("child_process", (message) => {
    const { process: child } = message as { process: ChildProcess };
    started.add(child);
    // The library has waited for it by then.
    child.once("exit", () => started.delete(child));
    child.once("error", () => child.pid === undefined && started.delete(child));
  });
  return {
    adopted: () => {
      const own = new Set([...started].map(({ pid }) => pid));
      const others = children().filter((pid) => !own.has(pid) && !before.has(pid));
      return others.filter((pid) => {
        if (readProcess(pid) !== null) return true;
        waitpid(pid, null, WNOHANG);
        return false;
      });
    },
  };
}

/** Returns `waitpid`; null where the system adopts nothing. */
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

/** The kernel gives what is adopted to the first thread of a process, which starts ours too. */
function children(): number[] {
  try {
    const text = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
