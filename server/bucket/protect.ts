import type { Protection } from "#protocol/bucket.ts";
import { ADOPTED_EPOCH, storedManifest } from "#protocol/adopted.ts";
import { isFault } from "#protocol/fault.ts";
import { parseDataKey } from "#protocol/keys.ts";
import type { Database } from "#prisma/open.ts";
import type { OpenStore } from "../profiles/open-store.ts";

/**
 * What in a bucket is Tidemark's own: data of checkpoints, manifests, claims and what it keeps for itself, below the prefix of
 * any profile of this bucket, and every object elsewhere that the manifest of a checkpoint names. It may be read and copied by
 * hand, and neither moved nor deleted nor written to. By the name of the bucket alone: two profiles may write one endpoint
 * in two ways, and protecting too much harms nobody.
 */

type Db = Pick<Database, "profile" | "checkpoint">;

export interface Guard {
  /** Null: nobody's but the people's. */
  of(key: string): Protection | null;
  /** The same, with the checkpoint it belongs to where the database knows that. */
  explain(key: string): Promise<Protection | null>;
}

/** Checkpoints in these states hold their objects. */
const HOLDING = ["uploading", "complete", "trashed"];
const FOLDERS = ["runs/", "manifests/", "epochs/", "keeping/", "_tidemark/"] as const;
const WHY = {
  "runs/": "leftover",
  "manifests/": "manifest",
  "epochs/": "claim",
  "keeping/": "keeping",
  "_tidemark/": "tidemark",
} as const;

const nobodys = (why: Protection["why"]): Protection => ({ why, checkpointId: null, run: null, step: null });

/**
 * Keys outside of Tidemark's folders by checkpoint, for each database. Manifests never change, and reading all of them takes
 * a while where there are thousands: each is judged once. Nearly every one names its own folder and has nothing to keep here.
 */
const judged = new WeakMap<object, Map<string, readonly string[]>>();
const AT_A_TIME = 500;

async function judge(db: Db, about: { ids: readonly string[]; prefix: string; into: Map<string, readonly string[]> }) {
  const { ids, prefix, into } = about;
  const odd = await db.checkpoint.findMany({
    where: {
      id: { in: [...ids] },
      OR: [{ writerEpoch: ADOPTED_EPOCH }, { content: { NOT: { manifest: { contains: `"${prefix}runs/` } } } }],
    },
    select: { id: true, content: { select: { manifest: true } } },
  });
  for (const id of ids) into.set(id, []);
  for (const { id, content } of odd) {
    const parsed = storedManifest.safeParse(JSON.parse(content?.manifest ?? "null"));
    const files = parsed.success ? parsed.data.files : [];
    into.set(
      id,
      files.flatMap(({ extents }): string[] => extents.map(({ key }) => key)),
    );
  }
}

/** Objects outside of Tidemark's folders that manifests name, with their checkpoints. */
async function namedElsewhere(db: Db, profiles: readonly { id: string; prefix: string }[]) {
  const known = judged.get(db) ?? new Map<string, readonly string[]>();
  judged.set(db, known);
  const named = new Map<string, string>();
  for (const { id: profileId, prefix } of profiles) {
    // One that is being uploaded has no manifest yet.
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

/** What is protected in the bucket of `store`, as the database knows it now. */
export async function loadGuard({ db }: { db: Db }, store: Pick<OpenStore, "access">): Promise<Guard> {
  const profiles = await db.profile.findMany({
    where: { bucket: store.access.bucket },
    select: { id: true, prefix: true },
  });
  const prefixes = [...new Set(profiles.map(({ prefix }) => prefix))];
  const named = await namedElsewhere(db, profiles);
  const known = new Map<string, Promise<Protection | null>>();

  const placeOf = (key: string): { prefix: string; folder: (typeof FOLDERS)[number] } | null => {
    for (const prefix of prefixes) {
      const folder = FOLDERS.find((one) => key.startsWith(prefix + one));
      if (folder !== undefined) return { prefix, folder };
    }
    return null;
  };
  const find = async (where: { run: string; attempt: string } | { id: string }): Promise<Protection | null> => {
    const row = await db.checkpoint.findFirst({ where, select: { id: true, run: true, step: true, state: true } });
    if (row === null || !HOLDING.includes(row.state)) return null;
    return { why: "checkpoint", checkpointId: row.id, run: row.run, step: Number(row.step) };
  };
  const once = (name: string, look: () => Promise<Protection | null>): Promise<Protection | null> => {
    const found = known.get(name) ?? look();
    // A folder of runs may hold any number of attempts: what was asked for long ago is asked for again.
    if (known.size > 10_000) known.clear();
    known.set(name, found);
    return found;
  };
  return {
    of: (key) => {
      const place = placeOf(key);
      if (place !== null) return nobodys(WHY[place.folder]);
      return named.has(key) ? nobodys("checkpoint") : null;
    },
    explain: async (key) => {
      const place = placeOf(key);
      const elsewhere = named.get(key);
      if (place === null) {
        if (elsewhere === undefined) return null;
        return (await once(elsewhere, () => find({ id: elsewhere }))) ?? nobodys("checkpoint");
      }
      const plain = nobodys(WHY[place.folder]);
      if (place.folder === "runs/") {
        const at = attemptOf(place.prefix, key);
        return at === null ? plain : ((await once(`${at.run}/${at.attempt}`, () => find(at))) ?? plain);
      }
      const id =
        place.folder === "manifests/" ? (/\/s\d{12}-(.+)-[a-z0-9]{12,32}\.json$/.exec(key)?.[1] ?? null) : null;
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
