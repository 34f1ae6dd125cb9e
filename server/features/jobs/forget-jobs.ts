import type { Hub } from "#server/core/api/hub.ts";
import { deleteLogs } from "./logs/delete-logs.ts";

const JOBS_KEPT_MS = 90 * 86_400_000;
/** Jobs of one statement: their attempts, labels and bans go with them. */
const AT_ONCE = 500;
const ENDED = ["done", "failed", "canceled"];

/**
 * Deletes jobs that ended more than 90 days ago, with everything about them, and bans that are over. A job whose log cannot be
 * deleted from its bucket now is deleted another time.
 */
export async function forgetJobs(hub: Pick<Hub, "db" | "now" | "stores" | "log">): Promise<void> {
  const { db, now } = hub;
  const over = { until: { lt: new Date(now()) } };
  await db.jobBan.deleteMany({ where: over });
  await db.jobMachineBan.deleteMany({ where: over });
  const old = { state: { in: ENDED }, endedAt: { lt: new Date(now() - JOBS_KEPT_MS) } };
  for (let last = 0; ;) {
    const where = { ...old, seq: { gt: last } };
    const select = { seq: true, id: true, run: true };
    const rows = await db.job.findMany({ where, select, orderBy: { seq: "asc" }, take: AT_ONCE });
    const left = await deleteLogs(hub, rows);
    const gone = rows.filter(({ id }) => !left.has(id)).map(({ seq }) => seq);
    // A person may have retried one meanwhile.
    await db.job.deleteMany({ where: { ...old, seq: { in: gone } } });
    last = rows.at(-1)?.seq ?? last;
    if (rows.length < AT_ONCE) return;
  }
}
