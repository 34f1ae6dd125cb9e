import { isSea } from "node:sea";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Said in so many words: asked with nothing in its hand it looks through the young objects only. */
const WHOLE = { type: "major", execution: "sync" };

let isSmall = false;

/**
 * From now on garbage is looked for whenever the heap has grown by a fifth: for what runs for days beside a program that needs
 * the memory, and for what has little of it. With 10,000 files in its queue a worker holds 20 MB less for it.
 */
export function keepHeapSmall(): void {
  if (isSmall) return;
  isSmall = true;
  setFlagsFromString("--heap-growing-percent=20");
  // Until the first time that all garbage is collected the executable lets it grow to 64 MB, for commands that are over before.
  collect(WHOLE);
}

/** All that can be collected, and every page that is empty by that given back to the system: some 40 ms for each 20 MB that are alive. */
export const collectAll = (): void => collect({ ...WHOLE, flavor: "last-resort" });

/**
 * Half of that is the program and what is not V8's: as long as no more was resident, V8 has not come to the limit that its
 * heap begins with, and nobody can be waiting for it to be collected.
 */
const LITTLE_KIB = 127_000;

/**
 * For the last moment of a process. A thread of V8 that compiles may be waiting for garbage to be collected, which only the
 * main thread does, while `process.exit` waits for that thread: it would hang for good, as one of forty downloads to stdout
 * did (https://github.com/nodejs/node/issues/54918). 10 ms, which commands of the executable that took little memory are spared.
 */
export function freeCompilers(): void {
  try {
    if (isSea() && !isSmall && process.resourceUsage().maxRSS < LITTLE_KIB) return;
    collect(WHOLE);
  } catch {
    // What was done is done: nothing here is worth another exit code.
  }
}

function collect(how: Record<string, string>): void {
  setFlagsFromString("--expose-gc");
  const collected: unknown = runInNewContext("globalThis.gc");
  if (typeof collected === "function") collected(how);
}
