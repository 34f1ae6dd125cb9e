import { open } from "node:fs/promises";
import { Fault } from "#protocol/fault.ts";
import { isSameFile, readIdentity } from "../engine/identity.ts";
import { checksumSlice } from "../engine/read-part.ts";
import type { CapturedFile } from "./capture.ts";
import type { LookedFile } from "./look.ts";

type Source = Pick<LookedFile, "path" | "identity">;

/**
 * After the bytes: a write during the copy shows in the source's time of change. Where the disk does not keep that, the source is read again
 * and compared with the sums of what was secured. Faults: SOURCE_CHANGED.
 */
export async function assertAsLooked(file: Source, secured: Pick<CapturedFile, "partBytes" | "sums">): Promise<void> {
  const { path, identity } = file;
  const source = await readIdentity(path).catch(() => null);
  if (source !== null && isSameFile(source, identity, path)) {
    if (source.mtimeNs === identity.mtimeNs || (await holds(file, secured))) return;
  }
  const detail = "it changed while it was captured";
  throw new Fault("SOURCE_CHANGED", { op: "capture", subject: path, detail });
}

/** Whether the file has these bytes. */
async function holds(
  { path, identity: { sizeBytes } }: Source,
  { partBytes, sums }: Pick<CapturedFile, "partBytes" | "sums">,
): Promise<boolean> {
  const handle = await open(path, "r");
  try {
    for (const [index, sum] of sums.entries()) {
      const offset = index * partBytes;
      const length = Math.min(partBytes, sizeBytes - offset);
      if ((await checksumSlice({ fd: handle.fd, path, offset, length })) !== sum) return false;
    }
    return true;
  } finally {
    await handle.close();
  }
}
