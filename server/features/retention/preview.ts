import { decideKeeping } from "#protocol/retention/decide-keeping.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { KeepPolicy, PreviewRow, RunPreview } from "#protocol/retention/keeping.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { readHistory } from "./read-history.ts";

const sum = (rows: readonly PreviewRow[]): number => rows.reduce((total, { sizeBytes }) => total + sizeBytes, 0);

/** Returns what a policy would do to a run now; changes nothing. */
export async function previewRun(hub: Pick<Hub, "db">, run: string, policy: KeepPolicy | null): Promise<RunPreview> {
  const rows = decideKeeping(policy, await readHistory(hub.db, run));
  const stays = rows.filter(({ fate }) => fate === "stays");
  const goes = rows.filter(({ fate }) => fate === "goes");
  return {
    run,
    stays: stays.length,
    goes: goes.length,
    stayBytes: sum(stays),
    freedBytes: sum(goes),
    rows,
  };
}

/** Returns the runs without a policy of their own. */
export async function runsOfDefault(hub: Pick<Hub, "db">): Promise<string[]> {
  const own = await hub.db.keepPolicy.findMany({ where: { body: { not: null } }, select: { run: true } });
  const names = { name: { notIn: own.map(({ run }) => run) } };
  const runs = await hub.db.run.findMany({ where: names, select: { name: true }, orderBy: { name: "asc" } });
  return runs.map(({ name }) => name);
}

/**
 * Returns every checkpoint of a run with its fate, the reasons and the bytes; without a run, for each run under the default
 * policy.
 * @throws Fault NOT_FOUND
 */
export async function preview(
  hub: Hub,
  { run, policy }: { run: string | null; policy: KeepPolicy | null },
): Promise<RunPreview[]> {
  if (run !== null) {
    if ((await hub.db.run.findUnique({ where: { name: run } })) === null)
      throw new Fault("NOT_FOUND", { subject: run });
    return [await previewRun(hub, run, policy)];
  }
  const previews: RunPreview[] = [];
  for (const name of await runsOfDefault(hub)) previews.push(await previewRun(hub, name, policy));
  return previews;
}
