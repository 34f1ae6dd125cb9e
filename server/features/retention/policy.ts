import { MOST_METRICS } from "#protocol/base/bounded.ts";
import { readMetrics } from "#server/core/checkpoints/read-metrics.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { KeepPolicy, PolicyView, RunPolicyView } from "#protocol/retention/keeping.ts";
import type { KeepPolicy as PolicyRow } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { EVERY_RUN, parsePolicy } from "./stored-policy.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

const viewOf = (run: string | null, row: PolicyRow | null): PolicyView => ({
  run,
  policy: row?.body == null ? null : parsePolicy(row.body),
  version: row?.version ?? 0,
  updatedAt: row?.updatedAt.getTime() ?? null,
  updatedBy: row?.updatedBy ?? null,
});

const find = (hub: Pick<Hub, "db">, run: string | null): Promise<PolicyRow | null> =>
  hub.db.keepPolicy.findUnique({ where: { run: run ?? EVERY_RUN } });

/** Returns the policy of a run, the default policy, and the metrics of the run's checkpoints. */
export async function policyOfRun(hub: Hub, { run }: { run: string | null }): Promise<RunPolicyView> {
  const usual = viewOf(null, await find(hub, null));
  const own = run === null ? usual : viewOf(run, await find(hub, run));
  const rows =
    run === null
      ? []
      : await hub.db.checkpoint.findMany({ where: { run, state: "complete" }, select: { metrics: true }, take: 1_000 });
  const metrics = new Set(rows.flatMap((row) => Object.keys(readMetrics(row.metrics))));
  return { own, usual, metrics: [...metrics].toSorted().slice(0, MOST_METRICS) };
}

/**
 * Sets the policy of a run, or the default; the next scheduled run or `applyNow` applies it.
 * @throws Fault NOT_FOUND (no such run), CONFLICT (somebody changed it meanwhile)
 */
export async function setPolicy(
  { hub, caller }: Context & { caller: PersonCaller },
  input: { run: string | null; policy: KeepPolicy | null; version: number },
): Promise<PolicyView> {
  const { run, policy, version } = input;
  if (run !== null && (await hub.db.run.findUnique({ where: { name: run } })) === null) {
    throw new Fault("NOT_FOUND", { subject: run });
  }
  const row = await hub.db.$transaction(async (tx) => {
    const known = await tx.keepPolicy.findUnique({ where: { run: run ?? EVERY_RUN } });
    if ((known?.version ?? 0) !== version) {
      throw new Fault("CONFLICT", { subject: "the policy", detail: `${known?.updatedBy ?? "somebody"} changed it` });
    }
    const data = {
      body: policy === null ? null : JSON.stringify(policy),
      version: version + 1,
      updatedAt: new Date(hub.now()),
      updatedBy: caller.person.email,
    };
    const key = { run: run ?? EVERY_RUN };
    const row = await tx.keepPolicy.upsert({ where: key, update: data, create: { ...key, ...data } });
    const action = policy === null ? "keeping policy removed" : "keeping policy set";
    await audit({ db: tx, now: hub.now }, caller, { action, subject: run ?? "all runs without their own" });
    return row;
  });
  hub.live.markStale(["runs"]);
  return viewOf(run, row);
}
