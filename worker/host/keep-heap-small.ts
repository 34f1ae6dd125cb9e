import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

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
  collect();
}

/** All that can be collected, and every page that is empty by that given back to the system: some 40 ms for each 20 MB that are alive. */
export const collectAll = (): void => collect({ type: "major", execution: "sync", flavor: "last-resort" });

function collect(how?: Record<string, string>): void {
  setFlagsFromString("--expose-gc");
  const collected: unknown = runInNewContext("globalThis.gc");
  if (typeof collected === "function") collected(how);
}
