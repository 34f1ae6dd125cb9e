import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import { statFile } from "./at-once.ts";
import { diskFault } from "./disk-fault.ts";

/** Which file it is and whether it was touched: device and inode, size, time of the last change. Text, because the numbers exceed 2^53. */
export const fileIdentity = z.object({ dev: z.string(), ino: z.string(), sizeBytes: z.number(), mtimeNs: z.string() });
export type FileIdentity = z.infer<typeof fileIdentity>;

export const identityOf = (stats: Pick<BigIntStats, "dev" | "ino" | "size" | "mtimeNs">): FileIdentity => ({
  dev: String(stats.dev),
  ino: String(stats.ino),
  sizeBytes: Number(stats.size),
  mtimeNs: String(stats.mtimeNs),
});

/** Faults: READ_FAILED, or SOURCE_CHANGED when the file is gone. */
export async function readIdentity(path: string): Promise<FileIdentity> {
  try {
    return identityOf(await stat(path, { bigint: true }));
  } catch (error) {
    throw diskFault(error, { op: "stat", subject: path, otherwise: "READ_FAILED" });
  }
}

export const isSameFile = (a: FileIdentity, b: FileIdentity): boolean =>
  a.dev === b.dev && a.ino === b.ino && a.sizeBytes === b.sizeBytes && a.mtimeNs === b.mtimeNs;

/** Whether it is the same file, and what was there is there: of a log, what was written since comes behind. */
export const hasGrown = (now: FileIdentity, before: FileIdentity): boolean =>
  now.dev === before.dev && now.ino === before.ino && now.sizeBytes > before.sizeBytes;

/** The file that is meant. `onGrown`: it is written at its end alone, so more of it is no change; told when there is more. */
export interface ExpectedFile {
  path: string;
  identity: FileIdentity;
  onGrown?: (() => void) | undefined;
}

/** @throws Fault SOURCE_CHANGED when the open file is no longer what it was. */
export async function assertUnchanged({ fd }: { fd: number }, expected: ExpectedFile): Promise<void> {
  const { path, identity, onGrown } = expected;
  const now = identityOf(await statFile(fd));
  if (isSameFile(now, identity)) return;
  if (onGrown !== undefined && hasGrown(now, identity)) {
    onGrown();
    return;
  }
  const detail =
    now.sizeBytes === identity.sizeBytes
      ? "it was written again"
      : `its size went from ${identity.sizeBytes} to ${now.sizeBytes} bytes`;
  throw new Fault("SOURCE_CHANGED", { op: "read", subject: path, detail });
}
