import { statfs } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { diskFault } from "./disk-fault.ts";

/** Returns free and total bytes of the disk under `path`, as a program without special rights may use them. */
export async function readRoom(path: string): Promise<{ freeBytes: number; totalBytes: number }> {
  try {
    const stats = await statfs(path);
    return { freeBytes: stats.bavail * stats.bsize, totalBytes: stats.blocks * stats.bsize };
  } catch (error) {
    throw diskFault(error, { op: "statfs", subject: path, otherwise: "READ_FAILED" });
  }
}

/** Checks the free disk space. @throws Fault NO_SPACE when less than `sizeBytes` and 5 % is free under `folder`. */
export async function assertRoom(folder: string, sizeBytes: number): Promise<void> {
  const { freeBytes } = await readRoom(folder);
  const needed = Math.ceil(sizeBytes * 1.05);
  if (freeBytes >= needed) return;
  const detail = `it needs ${formatBytes(needed)}, ${formatBytes(freeBytes)} are free`;
  throw new Fault("NO_SPACE", { op: "restore", subject: folder, detail });
}
