import type { Checkpoint } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";

const MOST_ASKED = 500;
const NEWEST = [{ writerEpoch: "desc" as const }, { step: "desc" as const }, { committedAt: "desc" as const }];

async function newestOf(tx: Pick<Transaction, "checkpoint">, which: { run: string; step?: bigint }) {
  const find = (where: { damagedAt?: null }) =>
    tx.checkpoint.findFirst({ where: { ...which, state: "complete", ...where }, orderBy: NEWEST });
  return (await find({ damagedAt: null })) ?? (await find({}));
}

/**
 * The newest complete checkpoint of a run: highest epoch, then highest step; null when it truly has none. One that is known
 * to be damaged is passed over for the one before it, unless there is no other.
 */
export const newestComplete = (tx: Pick<Transaction, "checkpoint">, run: string) => newestOf(tx, { run });

/** The same of every run that has one, in two questions however many there are. */
export async function newestOfEach(db: Pick<Transaction, "checkpoint" | "$queryRaw">) {
  const found = await db.$queryRaw<{ id: string | null }[]>`
    SELECT COALESCE(
      (SELECT c."id" FROM "Checkpoint" c WHERE c."run" = r."name" AND c."state" = 'complete' AND c."damagedAt" IS NULL
        ORDER BY c."writerEpoch" DESC, c."step" DESC, c."committedAt" DESC LIMIT 1),
      (SELECT c."id" FROM "Checkpoint" c WHERE c."run" = r."name" AND c."state" = 'complete'
        ORDER BY c."writerEpoch" DESC, c."step" DESC, c."committedAt" DESC LIMIT 1)) AS "id"
    FROM "Run" r`;
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

/** The same among those of one step: several epochs may have one. */
export const newestOfStep = (tx: Pick<Transaction, "checkpoint">, run: string, step: number) =>
  newestOf(tx, { run, step: BigInt(step) });

/** The newest of those that are complete, older than this one, and not known to be damaged. */
export const completeBefore = (
  tx: Pick<Transaction, "checkpoint">,
  { run, writerEpoch, step }: { run: string; writerEpoch: number; step: bigint },
) =>
  tx.checkpoint.findFirst({
    where: {
      run,
      state: "complete",
      damagedAt: null,
      OR: [{ writerEpoch: { lt: writerEpoch } }, { writerEpoch, step: { lt: step } }],
    },
    orderBy: NEWEST,
  });

/** The latest epoch of a run: its node is the only one that may write. */
export const currentEpoch = (tx: Pick<Transaction, "epoch">, run: string) =>
  tx.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });
