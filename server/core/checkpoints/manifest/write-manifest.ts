import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { manifestKey } from "#protocol/checkpoint/keys.ts";
import type { OpenStore } from "../../api/ports/stores.ts";
import { writeOnce } from "./write-once.ts";

/**
 * Writes a manifest to its key below the prefix, `text` byte for byte, and returns the key. @throws Fault CONFLICT when a
 * different one exists, CHECKSUM_MISMATCH, those of the store
 */
export async function writeManifest(
  store: Pick<OpenStore, "client" | "access">,
  manifest: Pick<StoredManifest, "run" | "step" | "writerEpoch" | "id" | "attempt">,
  { bucket, prefix, text }: { bucket: string; prefix: string; text: string },
): Promise<string> {
  const { run, step, writerEpoch: epoch, id: checkpointId, attempt } = manifest;
  const key = manifestKey(prefix, { run, step, epoch, checkpointId, attempt });
  await writeOnce(store, { bucket, key, text });
  return key;
}
