import type { Database } from "#prisma/open.ts";

/** Of JavaScript, ms since 1970. */
const LAST_DATE = 8_640_000_000_000_000;

/**
 * Cuts sizes that no store can hold and no number tells exactly. Nodes could announce such before sizes were bounded, and the
 * library refuses every answer with one of them in it: one row cost every list that shows it. So did the start of a transfer that is no
 * date.
 */
export async function cutSizes(db: Database): Promise<void> {
  const most = Number.MAX_SAFE_INTEGER;
  await db.$executeRaw`UPDATE "Checkpoint" SET "sizeBytes" = ${most} WHERE "sizeBytes" > ${most}`;
  await db.$executeRaw`UPDATE "Transfer" SET "startedAt" = NULL WHERE "startedAt" > ${LAST_DATE}`;
}
