import type { Config } from "../command-line/config.ts";
import { dropProgramPages } from "../host/memory-trim.ts";
import { keepHeapSmall } from "../host/keep-heap-small.ts";
import { LITTLE_BYTES, keepWithin } from "../host/keep-within.ts";

/** Runs `work` with a small heap and bounded resident memory when the options ask for little memory. */
export async function withinMemory<T>(config: Config, work: () => Promise<T>): Promise<T> {
  const memoryBytes = config.size("memory");
  if (memoryBytes === null || memoryBytes >= LITTLE_BYTES) return work();
  keepHeapSmall();
  dropProgramPages();
  return watched(keepWithin(memoryBytes), work);
}

/** Does so whatever memory the options give, for a process that runs for days beside a program that needs the memory. */
export async function withinMemoryAlways<T>(config: Config, work: () => Promise<T>): Promise<T> {
  keepHeapSmall();
  const memoryBytes = config.size("memory");
  return memoryBytes === null ? work() : watched(keepWithin(memoryBytes, { isLasting: true }), work);
}

async function watched<T>(stop: () => void, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    stop();
  }
}
