import { readFileSync, readlinkSync } from "node:fs";
import { systemCalls } from "../base/system-calls.ts";

/** Header line in `/proc/self/smaps`: `55d0c8a00000-55d0c8d46000 r-xp 00000000 fe:00 1234   /usr/bin/tidemark`. */
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ +(\/.*)$/;
const LEAST_BYTES = 1024 * 1024;

/** A mapped range of this process's memory that equals the mapped file. */
export interface CleanStretch {
  address: number;
  bytes: number;
}

/** Returns the read-only mappings of `program` in `smaps` without modified pages, neither in memory nor in swap. */
export function cleanStretches(smaps: string, program: string): CleanStretch[] {
  const found: CleanStretch[] = [];
  let last: (CleanStretch & { isClean: boolean }) | null = null;
  for (const line of smaps.split("\n")) {
    if (/^[0-9a-f]+-/.test(line)) {
      const [, from, to, rights, path] = MAPPING.exec(line) ?? [];
      const isOurs = from !== undefined && to !== undefined && path === program && rights?.[1] === "-";
      const address = isOurs ? Number.parseInt(from, 16) : 0;
      last = isOurs ? { address, bytes: Number.parseInt(to, 16) - address, isClean: false } : null;
    } else if (last !== null && line.startsWith("Anonymous:")) {
      last.isClean = /^Anonymous: +0 kB$/.test(line);
    } else if (last !== null && /^Swap: +0 kB$/.test(line)) {
      const { address, bytes, isClean } = last;
      if (isClean && bytes >= LEAST_BYTES) found.push({ address, bytes });
      last = null;
    }
  }
  return found;
}

/**
 * Drops the program file's pages from resident memory, in 1 to 2 ms. They are a third of a short command's resident memory,
 * and most are needed at start only. Pages still in use return from the page cache on access. Does nothing where the system
 * does not support it.
 */
export function dropProgramPages(): void {
  const calls = systemCalls();
  if (calls === null) return;
  try {
    const program = readlinkSync("/proc/self/exe", "latin1");
    for (const stretch of cleanStretches(readFileSync("/proc/self/smaps", "latin1"), program)) calls.dropPages(stretch);
  } catch {
    // Without /proc the mappings are unknown, so the pages stay.
  }
}
