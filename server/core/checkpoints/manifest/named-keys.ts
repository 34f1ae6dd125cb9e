import type { Checkpoint, CheckpointCopy } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { parseStored } from "./stored-manifest.ts";

/**
 * Caches the object keys that a manifest names: a restore asks for signatures in hundreds of batches, and a manifest can name
 * 50,000 files. The cache key is the manifest's digest, so an entry never goes stale.
 */

const MOST_KEPT = 4;
const kept = new Map<string, ReadonlySet<string>>();

interface Where {
  checkpoint: Checkpoint;
  /** Null: the copy of the checkpoint's own row. */
  copy: Pick<CheckpointCopy, "profileId" | "manifestSha256"> | null;
}

async function manifestText({ db }: Pick<Hub, "db">, { checkpoint: { id: checkpointId }, copy }: Where) {
  if (copy === null) return (await db.checkpointContent.findUnique({ where: { checkpointId } }))?.manifest ?? null;
  const where = { checkpointId_profileId: { checkpointId, profileId: copy.profileId } };
  return (await db.checkpointCopy.findUnique({ where, select: { manifest: true } }))?.manifest ?? null;
}

/** Returns the keys of the objects that the committed manifest of a complete checkpoint or copy names. */
export async function namedKeys(hub: Pick<Hub, "db">, where: Where): Promise<ReadonlySet<string>> {
  const { manifestSha256 } = where.copy ?? where.checkpoint;
  if (manifestSha256 === null) return new Set();
  const known = kept.get(manifestSha256);
  if (known !== undefined) return known;
  const text = await manifestText(hub, where);
  const named = text === null ? null : await parseStored(text);
  const own =
    named !== null && "joined" in named ? (named.joined?.pieces ?? []).flatMap((piece) => piece.own ?? []) : [];
  const keys = new Set([...(named?.files ?? []), ...own].flatMap(({ extents }) => extents.map(({ key }) => key)));
  const oldest = kept.keys().next();
  if (kept.size >= MOST_KEPT && oldest.done !== true) kept.delete(oldest.value);
  kept.set(manifestSha256, keys);
  return keys;
}
