import type { StoredExtent, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { parseDataKey, type DataKey } from "#protocol/checkpoint/keys.ts";
import { hasRole } from "#protocol/wire/requests.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { readStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Decides what a person may download. Everybody who may see checkpoints may download each object that the manifest of a
 * complete checkpoint names. Any other object needs the role operator, as looking inside files does.
 */

/** Returns the manifest with which a complete checkpoint was committed; null where there is none. */
export async function manifestOfCheckpoint(
  { db }: Pick<Hub, "db">,
  checkpoint: Pick<Checkpoint, "id" | "state">,
): Promise<StoredManifest | null> {
  if (checkpoint.state !== "complete") return null;
  const found = await db.checkpoint.findUnique({
    where: { id: checkpoint.id },
    select: { content: { select: { manifest: true, files: true } }, adoption: { select: { sums: true } } },
  });
  const text = found?.content?.manifest ?? null;
  return text === null
    ? null
    : readStored({ manifest: text, files: found?.content?.files ?? "[]" }, found?.adoption?.sums ?? null);
}

function dataKeyAt(prefix: string, key: string): DataKey | null {
  try {
    return parseDataKey(prefix, key);
  } catch (error) {
    if (isFault(error)) return null;
    throw error;
  }
}

/** Returns the recorded extents of each key that a complete checkpoint names; other keys are missing. */
export async function recordedExtents(
  hub: Hub,
  store: Pick<OpenStore, "prefix" | "profileId">,
  keys: readonly string[],
): Promise<Map<string, StoredExtent[]>> {
  const found = new Map<string, StoredExtent[]>();
  const attempts = new Map<string, Map<string, StoredExtent[]>>();
  for (const key of keys) {
    const at = dataKeyAt(store.prefix, key);
    if (at === null) continue;
    const name = `${at.run}/${at.attempt}`;
    let known = attempts.get(name);
    if (known === undefined) {
      const row = await hub.db.checkpoint.findUnique({ where: { run_attempt: { run: at.run, attempt: at.attempt } } });
      const committed = row === null || row.profileId !== store.profileId ? null : await manifestOfCheckpoint(hub, row);
      known = Map.groupBy(
        (committed?.files ?? []).flatMap(({ extents }): readonly StoredExtent[] => extents),
        (one) => one.key,
      );
      attempts.set(name, known);
    }
    const extents = known.get(key);
    if (extents !== undefined) found.set(key, extents);
  }
  return found;
}

/**
 * Returns the recorded extents of these keys.
 * @throws Fault ROLE_REQUIRED when a key belongs to no checkpoint and the caller is no operator
 */
export async function requireMayRead(
  { hub, caller, store }: { hub: Hub; caller: PersonCaller; store: OpenStore },
  keys: readonly string[],
): Promise<Map<string, StoredExtent[]>> {
  const recorded = await recordedExtents(hub, store, keys);
  if (!hasRole(caller.person.role, "operator") && keys.some((key) => !recorded.has(key))) {
    throw new Fault("ROLE_REQUIRED", { detail: "objects outside checkpoints need the role operator" });
  }
  return recorded;
}
