import { KINDS_BY_TRUST, type CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import type { RestorePoint } from "#protocol/checkpoint/continue-words.ts";
import { Prisma, type Checkpoint } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { wordsOf } from "#prisma/sql-words.ts";
import { nameOfPlace } from "#protocol/checkpoint/place.ts";
import { placeOfRow } from "./place-of-row.ts";

const MOST_ASKED = 500;
/** Sort order: the newest first. */
export const NEWEST = [{ writerEpoch: "desc" as const }, { step: "desc" as const }, { committedAt: "desc" as const }];

/**
 * Condition for a checkpoint that a run may resume from by itself: it has the training state, seems complete, and was not
 * abandoned.
 */
export const RESUMABLE = { role: null, abandonedAt: null, doubt: null };

async function newestOf(tx: Pick<Transaction, "checkpoint">, which: { run: string; step?: bigint }) {
  const find = (where: { damagedAt?: null }) =>
    tx.checkpoint.findFirst({ where: { ...which, state: "complete", ...RESUMABLE, ...where }, orderBy: NEWEST });
  return (await find({ damagedAt: null })) ?? (await find({}));
}

/**
 * Returns the newest complete checkpoint of a run: highest epoch, then highest step; null when there is none. A damaged one
 * is skipped for an older one, unless there is no other. Final models, doubtful and abandoned checkpoints do not count.
 */
export const newestComplete = (tx: Pick<Transaction, "checkpoint">, run: string) => newestOf(tx, { run });

/** SQL for the id of the newest complete checkpoint of the run in row `r`, by the rules of `newestComplete`. */
const NEWEST_OF_ROW = Prisma.sql`COALESCE(
      (SELECT c."id" FROM "Checkpoint" c WHERE c."run" = r."name" AND c."state" = 'complete' AND c."damagedAt" IS NULL
          AND c."role" IS NULL AND c."abandonedAt" IS NULL AND c."doubt" IS NULL
        ORDER BY c."writerEpoch" DESC, c."step" DESC, c."committedAt" DESC LIMIT 1),
      (SELECT c."id" FROM "Checkpoint" c WHERE c."run" = r."name" AND c."state" = 'complete'
          AND c."role" IS NULL AND c."abandonedAt" IS NULL AND c."doubt" IS NULL
        ORDER BY c."writerEpoch" DESC, c."step" DESC, c."committedAt" DESC LIMIT 1))`;

/**
 * Returns the newest complete checkpoint of every run that has one. The number of queries hardly depends on the number of
 * runs.
 */
export async function newestOfEach(db: Pick<Transaction, "checkpoint" | "$queryRaw">) {
  const found = await db.$queryRaw<{ id: string | null }[]>`SELECT ${NEWEST_OF_ROW} AS "id" FROM "Run" r`;
  const ids = found.flatMap(({ id }) => id ?? []);
  const rows: Pick<Checkpoint, "id" | "run" | "step" | "capturedAt">[] = [];
  for (let from = 0; from < ids.length; from += MOST_ASKED) {
    const where = { id: { in: ids.slice(from, from + MOST_ASKED) } };
    rows.push(
      ...(await db.checkpoint.findMany({ where, select: { id: true, run: true, step: true, capturedAt: true } })),
    );
  }
  return new Map(rows.map((row) => [row.run, row]));
}

interface PointRow {
  run: string;
  step: bigint | null;
  isDamaged: bigint | boolean | null;
  trashedStep: bigint | null;
}

/** Returns the checkpoint that each of these runs can resume from, in one query; an unknown run has no entry. */
export async function readRestorePoints(
  db: Pick<Transaction, "$queryRaw">,
  runs: readonly string[],
): Promise<Map<string, RestorePoint>> {
  if (runs.length === 0) return new Map();
  const rows = await db.$queryRaw<PointRow[]>`
    SELECT r."name" AS "run", n."step" AS "step", n."damagedAt" IS NOT NULL AS "isDamaged",
      CASE WHEN n."id" IS NULL THEN
        (SELECT t."step" FROM "Checkpoint" t WHERE t."run" = r."name" AND t."state" = 'trashed'
            AND t."role" IS NULL AND t."abandonedAt" IS NULL AND t."doubt" IS NULL
          ORDER BY t."writerEpoch" DESC, t."step" DESC LIMIT 1) END AS "trashedStep"
    FROM "Run" r LEFT JOIN "Checkpoint" n ON n."id" = ${NEWEST_OF_ROW}
    WHERE r."name" IN ${wordsOf(db).texts(runs)}`;
  return new Map(
    rows.map(({ run, step, isDamaged, trashedStep }) => [
      run,
      {
        run,
        newest: step === null ? null : { step: Number(step), isDamaged: Number(isDamaged) === 1 },
        trashedStep: trashedStep === null ? null : Number(trashedStep),
      },
    ]),
  );
}

/** Excludes single pieces: no program can resume from one, even if a person asks for it. */
const NO_PIECE = { OR: [{ piece: null }, { piece: { contains: '"nodes"' } }] };

/**
 * Returns the newest complete checkpoint of one step, which several epochs may have. Doubtful and then abandoned ones count
 * only if there is no other.
 */
export async function newestOfStep(tx: Pick<Transaction, "checkpoint">, run: string, step: number) {
  const which = { run, step: BigInt(step) };
  const find = (where: { abandonedAt?: null }) =>
    tx.checkpoint.findFirst({
      where: { ...which, state: "complete", role: null, ...NO_PIECE, ...where },
      orderBy: NEWEST,
    });
  return (await newestOf(tx, which)) ?? (await find({ abandonedAt: null })) ?? (await find({}));
}

/** Returns the newest doubtful checkpoint of a run that is later than `newest`; null when there is none. */
export const doubtfulAfter = (
  tx: Pick<Transaction, "checkpoint">,
  run: string,
  newest: Pick<Checkpoint, "writerEpoch" | "step"> | null,
) =>
  tx.checkpoint.findFirst({
    where: {
      run,
      state: "complete",
      role: null,
      abandonedAt: null,
      doubt: { not: null },
      AND: [NO_PIECE],
      ...(newest !== null && {
        OR: [
          { writerEpoch: { gt: newest.writerEpoch } },
          { writerEpoch: newest.writerEpoch, step: { gt: newest.step } },
        ],
      }),
    },
    orderBy: NEWEST,
  });

/** Returns the newest doubtful final model of a run that no later whole one replaces; null when there is none. */
export async function doubtfulFinal(tx: Pick<Transaction, "checkpoint">, run: string): Promise<Checkpoint | null> {
  const which = { run, state: "complete", role: "final-model", abandonedAt: null };
  const found = await tx.checkpoint.findFirst({
    where: { ...which, doubt: { not: null } },
    orderBy: { capturedAt: "desc" },
  });
  if (found === null) return null;
  const whole = await tx.checkpoint.findFirst({
    where: { ...which, doubt: null, capturedAt: { gte: found.capturedAt } },
    select: { id: true },
  });
  return whole === null ? found : null;
}

const MOST_STEPS = 200;

interface StepOfNode {
  nodeId: string;
  run: string;
  step: number;
}

/** Returns those of these steps of which only the piece of that node is there, as `nodeId run`. */
export async function readStoredPieces(
  tx: Pick<Transaction, "checkpoint">,
  steps: readonly StepOfNode[],
): Promise<ReadonlySet<string>> {
  if (steps.length === 0) return new Set();
  const rows = await tx.checkpoint.findMany({
    where: {
      state: "complete",
      piece: { contains: '"rank"' },
      OR: steps.slice(0, MOST_STEPS).map(({ nodeId, run, step }) => ({ nodeId, run, step: BigInt(step) })),
    },
    select: { nodeId: true, run: true },
  });
  return new Set(rows.map(({ nodeId, run }) => `${nodeId} ${run}`));
}

const MOST_OF_A_NAME = 64;

/** Returns the newest complete checkpoint that the training program gave this name; null when there is none. */
export async function newestOfName(
  tx: Pick<Transaction, "checkpoint">,
  run: string,
  name: string,
): Promise<Checkpoint | null> {
  const which = { run, state: "complete", role: null, doubt: null };
  // A text search in the stored JSON; an exact comparison follows.
  const text = JSON.stringify(name).slice(1);
  const found = await tx.checkpoint.findMany({
    where: { ...which, place: { contains: text } },
    orderBy: NEWEST,
    take: MOST_OF_A_NAME,
  });
  const own = found.find((row) => nameOfPlace(placeOfRow(row)?.path ?? "") === name);
  if (own !== undefined) return own;
  const step = /^checkpoint-(\d{1,12})$/.exec(name)?.[1];
  if (step === undefined) return null;
  return tx.checkpoint.findFirst({ where: { ...which, place: null, step: BigInt(step) }, orderBy: NEWEST });
}

/** Returns the newest complete checkpoint of a role, by `KINDS_BY_TRUST`; null when there is none. */
export async function newestOfRole(tx: Pick<Transaction, "checkpoint">, run: string, role: CheckpointRole) {
  for (const { isDamaged, isDoubtful } of KINDS_BY_TRUST) {
    const damagedAt = isDamaged ? { not: null } : null;
    const doubt = isDoubtful ? { not: null } : null;
    const where = { run, state: "complete", role, damagedAt, doubt };
    const found = await tx.checkpoint.findFirst({ where, orderBy: NEWEST });
    if (found !== null) return found;
  }
  return null;
}

/** Returns the complete checkpoint before the newest of a step; null when there is none. */
export async function newestBefore(tx: Pick<Transaction, "checkpoint">, run: string, step: number) {
  const of = await newestOfStep(tx, run, step);
  return of === null ? null : completeBefore(tx, of);
}

/** Returns the newest complete checkpoint older than this one that is neither doubtful, abandoned nor known to be damaged. */
export const completeBefore = (
  tx: Pick<Transaction, "checkpoint">,
  { run, writerEpoch, step, role }: Pick<Checkpoint, "run" | "writerEpoch" | "step" | "role">,
) =>
  tx.checkpoint.findFirst({
    where: {
      run,
      state: "complete",
      damagedAt: null,
      abandonedAt: null,
      doubt: null,
      // The predecessor of a final model is an earlier final model.
      role,
      OR: [{ writerEpoch: { lt: writerEpoch } }, { writerEpoch, step: { lt: step } }],
    },
    orderBy: NEWEST,
  });

/** Returns the latest epoch of a run; only its node, or its group, may write. */
export const currentEpoch = (tx: Pick<Transaction, "epoch">, run: string) =>
  tx.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });
