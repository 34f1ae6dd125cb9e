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
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("globalThis.gc");
  if (typeof collect === "function") collect();
}
