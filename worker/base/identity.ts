import { stat } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import { statFile } from "./adaptive-sync-io.ts";
import { diskFault } from "./disk-fault.ts";
import { identityOf, type FileIdentity } from "./file-identity.ts";
import { fileTimes } from "./file-times.ts";

/** Returns the identity of a file. Faults: READ_FAILED, or SOURCE_CHANGED when the file is gone. */
export async function readIdentity(path: string): Promise<FileIdentity> {
  try {
    return identityOf(await stat(path, { bigint: true }));
  } catch (error) {
    throw diskFault(error, { op: "stat", subject: path, otherwise: "READ_FAILED" });
  }
}

/** Returns whether the file at `path` is the same one and unwritten, by the rule of `file-times` for its time. */
export const isSameFile = (now: FileIdentity, before: FileIdentity, path: string): boolean =>
  now.dev === before.dev &&
  now.ino === before.ino &&
  now.sizeBytes === before.sizeBytes &&
  fileTimes.isSame(now, before, path);

/** Returns whether the file is the same one with more at its end, as a log that is appended to. */
export const hasGrown = (now: FileIdentity, before: FileIdentity): boolean =>
  now.dev === before.dev && now.ino === before.ino && now.sizeBytes > before.sizeBytes;

/** A file that must not change. `onGrown`: it is only appended to, so growth is no change; called when it has grown. */
export interface ExpectedFile {
  path: string;
  identity: FileIdentity;
  onGrown?: (() => void) | undefined;
}

/** A time that returns to its old value shows that the disk does not keep times, so it is read again. */
const MORE_LOOKS = 8;
const LOOK_AGAIN_MS = 250;

/** @throws Fault SOURCE_CHANGED when the open file is no longer what it was. */
export async function assertUnchanged({ fd }: { fd: number }, expected: ExpectedFile): Promise<void> {
  const { path, identity, onGrown } = expected;
  let now = identityOf(await statFile(fd));
  if (isSameFile(now, identity, path)) return;
  const mayBeWobble = now.ino === identity.ino && fileTimes.mayBeWobble(now, identity, path);
  for (let looks = mayBeWobble ? MORE_LOOKS : 0; looks > 0; looks--) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    const last = now;
    now = identityOf(await statFile(fd));
    // Records that the disk changed its mind about the time, even when the time is the expected one again.
    fileTimes.isSame(now, last, path);
    if (isSameFile(now, identity, path)) return;
  }
  if (onGrown !== undefined && hasGrown(now, identity)) {
    onGrown();
    return;
  }
  const detail =
    now.sizeBytes !== identity.sizeBytes
      ? `its size went from ${identity.sizeBytes} to ${now.sizeBytes} bytes`
      : mayBeWobble
        ? "its time changed; if nobody wrote to it and its disk is a network disk, use --unsteady-times"
        : "it was written again";
  throw new Fault("SOURCE_CHANGED", { op: "read", subject: path, detail });
}
