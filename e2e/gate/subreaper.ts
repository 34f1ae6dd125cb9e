import { createRequire } from "node:module";
import { descendantsOf } from "./process-tree.ts";

/**
 * Makes this process the subreaper of its descendants (Linux, `prctl(PR_SET_CHILD_SUBREAPER)`). Orphans become its children
 * instead of those of process 1, so that no process leaves the tree.
 */

const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;

interface Library {
  func: (declaration: string) => (...args: unknown[]) => number;
}

export interface Subreaper {
  /** Reaps adopted processes that have ended. Node itself reaps `own`, which it started. */
  reap: (own: number) => void;
}

/** Makes this process a subreaper. Returns null where the system has no subreapers, or koffi is missing. */
export function becomeSubreaper(): Subreaper | null {
  if (process.platform !== "linux") return null;
  try {
    const koffi = createRequire(import.meta.url)("koffi") as { load: (path: null) => Library };
    const library = koffi.load(null);
    const prctl = library.func("int prctl(int option, ulong a, ulong b, ulong c, ulong d)");
    const waitpid = library.func("int waitpid(int pid, void *status, int options)");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) !== 0) return null;
    return {
      reap: (own) => {
        for (const { pid, parent, isZombie } of descendantsOf(process.pid)) {
          if (isZombie && parent === process.pid && pid !== own) waitpid(pid, null, WNOHANG);
        }
      },
    };
  } catch {
    return null;
  }
}
