import { execFile } from "node:child_process";
import { statfs, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import type { Fault } from "#protocol/faults/fault.ts";
import type { Clock } from "#worker/base/clock.ts";
import type { Patience } from "../store-session/retry.ts";

/**
 * Space for a file before its bytes come, so that the disk cannot fill up behind them: the training program writes too.
 * Node has no call for that; the `fallocate` program, part of every Linux, has. Where it is missing, or the disk cannot,
 * the file only gets its length, and a disk that fills up is met when it does.
 */
const WORTH_BYTES = 32 * 1024 * 1024;
/** Memory disks fill reserved space with zeros at once, which costs what it should save. */
const MEMORY_DISKS: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6]);

/** Gives an open file its length and, where that is worth it, its space. Faults: none; the errors of truncate. */
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
 * Waits until there is room for `bytes` again, as long as the transfer has patience. Faults: the given one when there is
 * none left, CANCELLED.
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
