import type { Database } from "#prisma/open.ts";

/**
 * Cuts sizes that no store can hold and no number tells exactly. Nodes could announce such before sizes were bounded, and the
 * library refuses every answer with one of them in it: one row cost every list that shows it.
 */
export async function cutSizes(db: Database): Promise<void> {
  const most = Number.MAX_SAFE_INTEGER;
  await db.$executeRaw`UPDATE "Checkpoint" SET "sizeBytes" = ${most} WHERE "sizeBytes" > ${most}`;
}
