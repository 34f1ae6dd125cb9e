import { isSea } from "node:sea";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Options of V8's `gc` for a full collection, given explicitly: an empty object would collect the young generation only. */
const WHOLE = { type: "major", execution: "sync" };

let isSmall = false;

/**
 * Makes V8 collect garbage whenever the heap has grown by a fifth. It is meant for processes that run for days beside a
 * training program, or with little memory. With 10,000 files in its queue, a worker then needs 20 MB less.
 */
export function keepHeapSmall(): void {
  if (isSmall) return;
  isSmall = true;
  setFlagsFromString("--heap-growing-percent=20");
  // The executable lets the heap grow to 64 MB before the first full collection, which suits short commands but not this one.
  collect(WHOLE);
}

/** Collects all garbage and returns empty pages to the system. Takes about 40 ms for each 20 MB of live objects. */
export const collectAll = (): void => collect({ ...WHOLE, flavor: "last-resort" });

/**
 * Resident memory (KiB) below which V8 has not yet reached its initial heap limit, so that no thread can be waiting for a
 * collection. About half of it is the program and memory outside V8.
 */
const LITTLE_KIB = 127_000;

/**
 * Prevents a deadlock at exit. A compiler thread of V8 may wait for a garbage collection, which only the main thread runs,
 * while `process.exit` waits for that thread: https://github.com/nodejs/node/issues/54918. One of forty downloads to
 * stdout hung that way. The collection takes 10 ms; the executable skips it when the process used little memory.
 */
export function freeCompilers(): void {
  try {
    if (isSea() && !isSmall && process.resourceUsage().maxRSS < LITTLE_KIB) return;
    collect(WHOLE);
  } catch {
    // The command's work is done, so a failure here must not change its exit code.
  }
}

function collect(how: Record<string, string>): void {
  setFlagsFromString("--expose-gc");
  const collected: unknown = runInNewContext("globalThis.gc");
  if (typeof collected === "function") collected(how);
}
