import { finding, type Finding } from "#protocol/checkpoint/findings.ts";
import { FINDINGS, findingKey } from "#protocol/checkpoint/keys.ts";
import type { Transaction } from "#prisma/open.ts";
import { promoteSound } from "../runs/promote-sound.ts";
import { readJson, refused, type HistoryKind, type HistoryObject, type HistoryScope } from "./history-kind.ts";

/**
 * Records the results of verifications from the bucket. The result does not depend on the order of the objects. They are read
 * after the manifests, so findings about removed checkpoints are not fetched.
 */

/** Returns the checkpoint id in a key relative to the run's folder; null when it is no key of a finding. */
const checkpointOf = (name: string): string | null =>
  /^([A-Za-z0-9-]{8,64})\/[A-Za-z0-9-]{8,64}\.json$/.exec(name)?.[1] ?? null;

/** Parses a finding and checks it against its key. @throws Fault BAD_INPUT */
function readFinding({ store, run }: HistoryScope, object: HistoryObject): Finding {
  const parsed = finding.safeParse(readJson(object));
  if (!parsed.success) throw refused(object, parsed.error.issues[0]?.message ?? "it says nothing about a checkpoint");
  const { checkpointId, id } = parsed.data;
  if (parsed.data.run !== run || findingKey(store.prefix, { run, checkpointId, id }) !== object.key) {
    throw refused(object, "it speaks of something else than its key");
  }
  return parsed.data;
}

type Row = { verifiedAt: Date | null; damagedAt: Date | null };
const ROW = { verifiedAt: true, damagedAt: true } as const;

/** Returns the columns that a finding changes; null when it is not newer. */
function newsOf(row: Row, { at, found }: Finding): (Partial<Row> & { damage?: string | null }) | null {
  const verifiedAt = row.verifiedAt?.getTime() ?? -1;
  const damagedAt = row.damagedAt?.getTime() ?? -1;
  if (found.kind === "doubtful") return null;
  if (found.kind === "damaged") {
    const isNews = at > damagedAt && at > verifiedAt;
    return isNews ? { damagedAt: new Date(at), damage: JSON.stringify(found.report) } : null;
  }
  if (at <= verifiedAt) return null;
  return { verifiedAt: new Date(at), ...(damagedAt <= at ? { damagedAt: null, damage: null } : {}) };
}

type Db = Pick<Transaction, "checkpoint" | "checkpointCopy" | "checkpointContent">;

/** Records a finding for the copy in the bucket that the object lies in. Returns whether it was new. */
export async function takeFinding(tx: Db, profileId: string, read: Finding): Promise<boolean> {
  const { checkpointId, run } = read;
  const where = { id: checkpointId, run };
  const first = await tx.checkpoint.findUnique({ where, select: { ...ROW, profileId: true } });
  if (first === null) return false;
  if (read.found.kind === "doubtful") {
    const { count } = await tx.checkpoint.updateMany({
      where: { ...where, doubt: null },
      data: { doubt: read.found.why },
    });
    return count > 0;
  }
  if (first.profileId === profileId) {
    const data = newsOf(first, read);
    if (data !== null) await tx.checkpoint.update({ where, data });
    if (data !== null) await promoteSound(tx, checkpointId);
    return data !== null;
  }
  const copyAt = { checkpointId_profileId: { checkpointId, profileId } };
  const copy = await tx.checkpointCopy.findUnique({ where: copyAt, select: ROW });
  const data = copy === null ? null : newsOf(copy, read);
  if (data !== null) await tx.checkpointCopy.update({ where: copyAt, data });
  return data !== null;
}

export const FINDING_OBJECTS: HistoryKind = {
  folder: FINDINGS,
  mostBytes: 64 * 1024,
  epochOf: (name) => (checkpointOf(name) === null ? null : 0),
  // Known findings are fetched again: they are small, and this runs only when the database is rebuilt.
  isKnown: async ({ db, store, run }, key) => {
    const id = checkpointOf(key.slice(`${store.prefix}${FINDINGS}/${run}/`.length)) ?? "";
    return (await db.checkpoint.count({ where: { id } })) === 0;
  },
  take: async (scope, object) => {
    const read = readFinding(scope, object);
    return scope.db.$transaction((tx) => takeFinding(tx, scope.store.profileId, read));
  },
  countMissing: async () => 0,
};
