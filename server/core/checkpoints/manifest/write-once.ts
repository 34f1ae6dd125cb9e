import { Fault, isFault } from "#protocol/faults/fault.ts";
import { getObjectText, putObjectText } from "#storage/s3/objects.ts";
import type { OpenStore } from "../../api/ports/stores.ts";

const MOST_MANIFEST_BYTES = 64 * 1024 * 1024;

/**
 * Writes a manifest unless the same one exists, and reads it back. @throws Fault CONFLICT when a different one exists,
 * CHECKSUM_MISMATCH when it reads back differently, those of the store
 */
export async function writeOnce(
  { client, access }: Pick<OpenStore, "client" | "access">,
  { bucket, key, text }: { bucket: string; key: string; text: string },
): Promise<void> {
  const once = access.traits.conditionalWrites ? { ifNoneMatch: "*" as const } : {};
  let existed = false;
  try {
    await putObjectText(client, { bucket, key, text, ...once });
  } catch (error) {
    if (!isFault(error) || error.code !== "ALREADY_EXISTS") throw error;
    existed = true;
  }
  const written = await getObjectText(client, { bucket, key, maxBytes: MOST_MANIFEST_BYTES });
  if (written.text !== text) {
    throw new Fault(existed ? "CONFLICT" : "CHECKSUM_MISMATCH", { op: "commit", subject: key });
  }
}
