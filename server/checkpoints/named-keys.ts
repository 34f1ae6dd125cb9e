import { storedManifest } from "#protocol/adopted.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Hub } from "../hub.ts";

/**
 * A restore asks for signatures in hundreds of batches, and a manifest can name 50,000 files: the last few are kept read.
 * They are kept by their digest, so a kept one can never be out of date.
 */

const MOST_KEPT = 4;
const kept = new Map<string, ReadonlySet<string>>();

/** The keys of the objects that the committed manifest of a complete checkpoint names. */
export async function namedKeys(hub: Pick<Hub, "db">, checkpoint: Checkpoint): Promise<ReadonlySet<string>> {
  const { id: checkpointId, manifestSha256 } = checkpoint;
  if (manifestSha256 === null) return new Set();
  const known = kept.get(manifestSha256);
  if (known !== undefined) return known;
  const content = await hub.db.checkpointContent.findUnique({ where: { checkpointId } });
  const named = content?.manifest == null ? null : storedManifest.parse(JSON.parse(content.manifest));
  const keys = new Set((named?.files ?? []).flatMap(({ extents }) => extents.map(({ key }) => key)));
  const oldest = kept.keys().next();
  if (kept.size >= MOST_KEPT && oldest.done !== true) kept.delete(oldest.value);
  kept.set(manifestSha256, keys);
  return keys;
}
