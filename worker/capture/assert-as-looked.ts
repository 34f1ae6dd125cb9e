import { Fault } from "#protocol/faults/fault.ts";
import { isSameFile, readIdentity } from "../base/identity.ts";
import { hasSums } from "../transfer/upload/read-part.ts";
import type { CapturedFile } from "./capture.ts";
import type { LookedFile } from "./detection/look.ts";

type Source = Pick<LookedFile, "path" | "identity">;

/**
 * Checks after the copy that the source did not change meanwhile. A write shows in the source's time of change. Where the disk
 * does not keep that time, the source is read again and compared with the checksums of the secured file. Faults:
 * SOURCE_CHANGED.
 */
export async function assertAsLooked(file: Source, secured: Pick<CapturedFile, "partBytes" | "sums">): Promise<void> {
  const { path, identity } = file;
  const source = await readIdentity(path).catch(() => null);
  if (source !== null && isSameFile(source, identity, path)) {
    const { partBytes, sums } = secured;
    const known = { path, sizeBytes: identity.sizeBytes, partBytes };
    if (source.mtimeNs === identity.mtimeNs || (await hasSums(known, sums.entries()))) return;
  }
  const detail = "it changed while it was captured";
  throw new Fault("SOURCE_CHANGED", { op: "capture", subject: path, detail });
}
