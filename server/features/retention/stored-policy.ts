import { keepPolicy, type KeepPolicy } from "#protocol/retention/keeping.ts";
import type { Database } from "#prisma/open.ts";

/** Key of the default policy, for runs without their own; no run can have this name. */
export const EVERY_RUN = "*";

export const parsePolicy = (body: string): KeepPolicy => keepPolicy.parse(JSON.parse(body));

/** Returns the policy of a run: its own, else the default, else null. */
export async function policyFor(db: Pick<Database, "keepPolicy">, run: string): Promise<KeepPolicy | null> {
  const rows = await db.keepPolicy.findMany({ where: { run: { in: [run, EVERY_RUN] }, body: { not: null } } });
  const row = rows.find((one) => one.run === run) ?? rows.find((one) => one.run === EVERY_RUN);
  return row?.body == null ? null : parsePolicy(row.body);
}
