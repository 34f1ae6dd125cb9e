import { execFile } from "node:child_process";
import { statfs, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import type { Fault } from "#protocol/faults/fault.ts";
import type { Clock } from "#worker/base/clock.ts";
import type { Patience } from "../store-session/retry.ts";

/**
 * Size from which files get their disk space before their bytes come: the training program writes, too, and could fill the
 * disk meanwhile. Node has no fallocate(2), so the `fallocate` program of Linux reserves the space. Where it is missing or
 * fails, the file only gets its length, and a full disk shows up while writing.
 */
const WORTH_BYTES = 32 * 1024 * 1024;
/**
 * File system types of tmpfs and ramfs. Both fill reserved space with zeros at once, which costs what reserving should save.
 */
const MEMORY_DISKS: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6]);

/**
 * Sets the length of an open file and, where worthwhile, reserves its disk space. Rejects with errors of the file system, not
 * with Faults.
 */
export async function reserve(handle: FileHandle, file: { path: string; sizeBytes: number }): Promise<void> {
  const { path, sizeBytes } = file;
  if (sizeBytes >= WORTH_BYTES && !MEMORY_DISKS.has((await statfs(dirname(path))).type)) {
    await new Promise<void>((resolve) => {
      execFile("fallocate", ["--length", String(sizeBytes), "--", path], { timeout: 30_000 }, () => resolve());
    });
  }
  await handle.truncate(sizeBytes);
}

const LOOK_EVERY_MS = 1_000;

/**
 * Waits until the disk has room for `bytes`, as long as the transfer has patience. Faults: `fault` when its patience has
 * ended, CANCELLED.
 */
export async function waitForRoom(
  fault: Fault,
  about: { path: string; bytes: number; clock: Clock; patience: Patience; patienceMs: number; signal: AbortSignal },
): Promise<void> {
  const { path, bytes, clock, patience, patienceMs, signal } = about;
  for (;;) {
    if (patience.idleMs() > patienceMs) throw fault;
    await clock.sleep(LOOK_EVERY_MS, signal);
    const { bavail, bsize } = await statfs(dirname(path));
    if (bavail * bsize > bytes) return;
  }
}
