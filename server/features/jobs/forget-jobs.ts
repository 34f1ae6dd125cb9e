import type { Hub } from "#server/core/api/hub.ts";

const JOBS_KEPT_MS = 90 * 86_400_000;
/** Jobs of one statement: their attempts, labels and bans go with them. */
const AT_ONCE = 500;
const ENDED = ["done", "failed", "canceled"];

/** Deletes jobs that ended more than 90 days ago, with everything about them, and bans that are over. */
export async function forgetJobs({ db, now }: Pick<Hub, "db" | "now">): Promise<void> {
  const over = { until: { lt: new Date(now()) } };
  await db.jobBan.deleteMany({ where: over });
  await db.jobMachineBan.deleteMany({ where: over });
  const old = { state: { in: ENDED }, endedAt: { lt: new Date(now() - JOBS_KEPT_MS) } };
  for (;;) {
    const rows = await db.job.findMany({ where: old, select: { seq: true }, take: AT_ONCE });
    // A person may have retried one meanwhile.
    await db.job.deleteMany({ where: { ...old, seq: { in: rows.map(({ seq }) => seq) } } });
    if (rows.length < AT_ONCE) return;
  }
}
