import type { Protection, ProtectedWhy } from "#protocol/buckets/bucket.ts";
import { ADOPTED_EPOCH } from "#protocol/checkpoint/adopted.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { OWN_FOLDERS, ownFolderOf, parseDataKey, type OwnFolder } from "#protocol/checkpoint/keys.ts";
import type { Database } from "#prisma/open.ts";
import { parseStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";

/**
 * Tells which objects of a bucket belong to Tidemark: data of checkpoints, manifests, claims and internal files below the
 * prefix of any profile of this bucket, and objects elsewhere that the manifest of a checkpoint names. People may read and copy
 * them, but not move, delete or overwrite them. Profiles are matched by the bucket's name alone: two profiles may spell one
 * endpoint in two ways, and too much protection harms nobody.
 */

type Db = Pick<Database, "profile" | "checkpoint" | "checkpointCopy">;

export interface Guard {
  /** Returns the protection of a key; null if the key belongs to people alone. */
  of(key: string): Protection | null;
  /** Returns the same as `of`, with the checkpoint that the key belongs to where the database knows it. */
  explain(key: string): Promise<Protection | null>;
}

/** States in which a checkpoint keeps its objects. */
const HOLDING = ["uploading", "complete", "trashed", "joined"];
/** Reason of the protection by folder; null for leftovers of a bucket test, which people may remove. */
const WHY = {
  [OWN_FOLDERS.data]: "leftover",
  [OWN_FOLDERS.manifests]: "manifest",
  [OWN_FOLDERS.claims]: "claim",
  [OWN_FOLDERS.keeping]: "keeping",
  [OWN_FOLDERS.own]: "tidemark",
  [OWN_FOLDERS.checks]: null,
} as const satisfies Record<OwnFolder, ProtectedWhy | null>;

const nobodys = (why: Protection["why"]): Protection => ({ why, checkpointId: null, run: null, step: null });

/**
 * Keys outside Tidemark's folders by checkpoint id, for each database. Manifests never change and reading thousands takes a
 * while, so each is examined once. Nearly all of them name only Tidemark's folders and have an empty list here.
 */
const judged = new WeakMap<object, Map<string, readonly string[]>>();
const AT_A_TIME = 500;

async function judge(db: Db, about: { ids: readonly string[]; prefix: string; into: Map<string, readonly string[]> }) {
  const { ids, prefix, into } = about;
  const odd = await db.checkpoint.findMany({
    where: {
      id: { in: [...ids] },
      OR: [
        { writerEpoch: ADOPTED_EPOCH },
        { content: { NOT: { manifest: { contains: `"${prefix}${OWN_FOLDERS.data}` } } } },
      ],
    },
    select: { id: true, content: { select: { manifest: true } } },
  });
  for (const id of ids) into.set(id, []);
  for (const { id, content } of odd) {
    const files = content?.manifest == null ? [] : (await parseStored(content.manifest)).files;
    into.set(
      id,
      files.flatMap(({ extents }): string[] => extents.map(({ key }) => key)),
    );
  }
}

/** Returns the objects outside Tidemark's folders that manifests name, with the ids of their checkpoints. */
async function namedElsewhere(db: Db, profiles: readonly { id: string; prefix: string }[]) {
  const known = judged.get(db) ?? new Map<string, readonly string[]>();
  judged.set(db, known);
  const named = new Map<string, string>();
  for (const { id: profileId, prefix } of profiles) {
    // A checkpoint that is being uploaded has no manifest yet.
    const where = { profileId, state: { in: HOLDING }, manifestSha256: { not: null } };
    const rows = await db.checkpoint.findMany({ where, select: { id: true } });
    const fresh = rows.flatMap(({ id }) => (known.has(id) ? [] : [id]));
    for (let from = 0; from < fresh.length; from += AT_A_TIME) {
      await judge(db, { ids: fresh.slice(from, from + AT_A_TIME), prefix, into: known });
    }
    for (const { id } of rows) for (const key of known.get(id) ?? []) named.set(key, id);
  }
  return named;
}

/** Loads the protection of the bucket of `store`, as the database knows it now. */
export async function loadGuard({ db }: { db: Db }, store: Pick<OpenStore, "access">): Promise<Guard> {
  const profiles = await db.profile.findMany({
    where: { bucket: store.access.bucket },
    select: { id: true, prefix: true },
  });
  const prefixes = [...new Set(profiles.map(({ prefix }) => prefix))];
  const named = await namedElsewhere(db, profiles);
  const known = new Map<string, Promise<Protection | null>>();

  const placeOf = (key: string) => {
    const place = ownFolderOf(prefixes, key);
    const why = place === null ? null : WHY[place.folder];
    return place === null || why === null ? null : { ...place, why };
  };
  const findCopy = async (where: { run: string; attempt: string }): Promise<Protection | null> => {
    const copy = await db.checkpointCopy.findFirst({
      where: { ...where, state: { in: ["copying", "complete"] } },
      select: { checkpoint: { select: { id: true, run: true, step: true } } },
    });
    if (copy === null) return null;
    const { id: checkpointId, run, step } = copy.checkpoint;
    return { why: "checkpoint", checkpointId, run, step: Number(step) };
  };
  const find = async (where: { run: string; attempt: string } | { id: string }): Promise<Protection | null> => {
    const row = await db.checkpoint.findFirst({ where, select: { id: true, run: true, step: true, state: true } });
    if (row === null && "attempt" in where) return findCopy(where);
    if (row === null || !HOLDING.includes(row.state)) return null;
    return { why: "checkpoint", checkpointId: row.id, run: row.run, step: Number(row.step) };
  };
  const once = (name: string, look: () => Promise<Protection | null>): Promise<Protection | null> => {
    const found = known.get(name) ?? look();
    // Bounds the cache, because a bucket may hold any number of attempts.
    if (known.size > 10_000) known.clear();
    known.set(name, found);
    return found;
  };
  return {
    of: (key) => {
      const place = placeOf(key);
      if (place !== null) return nobodys(place.why);
      return named.has(key) ? nobodys("checkpoint") : null;
    },
    explain: async (key) => {
      const place = placeOf(key);
      const elsewhere = named.get(key);
      if (place === null) {
        if (elsewhere === undefined) return null;
        return (await once(elsewhere, () => find({ id: elsewhere }))) ?? nobodys("checkpoint");
      }
      const plain = nobodys(place.why);
      if (place.folder === OWN_FOLDERS.data) {
        const at = attemptOf(place.prefix, key);
        return at === null ? plain : ((await once(`${at.run}/${at.attempt}`, () => find(at))) ?? plain);
      }
      const id =
        place.folder === OWN_FOLDERS.manifests
          ? (/\/s\d{12}-(.+)-[a-z0-9]{12,32}\.json$/.exec(key)?.[1] ?? null)
          : null;
      if (id === null) return plain;
      const of = await once(id, () => find({ id }));
      return of === null ? plain : { ...of, why: "manifest" };
    },
  };
}

function attemptOf(prefix: string, key: string): { run: string; attempt: string } | null {
  try {
    const { run, attempt } = parseDataKey(prefix, key);
    return { run, attempt };
  } catch (error) {
    if (isFault(error)) return null;
    throw error;
  }
}
