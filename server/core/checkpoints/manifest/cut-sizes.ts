import type { Database } from "#prisma/open.ts";

/** The latest date that JavaScript can represent, epoch ms. */
const LAST_DATE = 8_640_000_000_000_000;

/**
 * Caps stored sizes above `Number.MAX_SAFE_INTEGER`, and clears start times that are no date. Nodes could report such values
 * before inputs were bounded. The database client refuses every answer that contains one, so one row would break each list
 * that shows it.
 */
export async function cutSizes(db: Database): Promise<void> {
  const most = Number.MAX_SAFE_INTEGER;
  await db.$executeRaw`UPDATE "Checkpoint" SET "sizeBytes" = ${most} WHERE "sizeBytes" > ${most}`;
  await db.$executeRaw`UPDATE "Transfer" SET "startedAt" = NULL WHERE "startedAt" > ${LAST_DATE}`;
}
