import type { Config } from "../command-line/config.ts";
import { dropProgramPages } from "../host/memory-trim.ts";
import { keepHeapSmall } from "../host/keep-heap-small.ts";
import { LITTLE_BYTES, keepWithin } from "../host/keep-within.ts";

/** Who asks for little memory means the rest of it too, from the first file that is looked at. */
export async function withinMemory<T>(config: Config, work: () => Promise<T>): Promise<T> {
  const memoryBytes = config.size("memory");
  if (memoryBytes === null || memoryBytes >= LITTLE_BYTES) return work();
  keepHeapSmall();
  dropProgramPages();
  return watched(keepWithin(memoryBytes), work);
}

/** For what runs for days beside a program that needs the memory: from the start, whatever memory it was given. */
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
