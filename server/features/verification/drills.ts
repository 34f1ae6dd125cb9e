import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { drillsInput, DrillView, setDrillInput } from "#protocol/wire/verifying.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { newestComplete } from "#server/core/runs/newest.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { transferRowOf } from "#server/core/live/transfer-row.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { ALL_RUNS, dueAt, lastDrills, ruleOf } from "./drill-schedule.ts";
import { drillingProfiles, runDrills, whyNotNow } from "./run-drills.ts";

const LISTED = 5;

/** Returns how often restores of a run are rehearsed, the last results, and when the next drill is due. @throws Fault NOT_FOUND */
export async function readDrills(hub: Hub, { run }: z.infer<typeof drillsInput>): Promise<DrillView> {
  const known = await hub.db.run.findUnique({ where: { name: run } });
  if (known === null) throw new Fault("NOT_FOUND", { subject: "this run" });
  const rules = await hub.db.drillRule.findMany({ where: { run: { in: [run, ALL_RUNS] } } });
  const rule = ruleOf(rules, run);
  const rows = await hub.db.transfer.findMany({
    where: { direction: "drill", run },
    include: { node: { select: { name: true } } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: LISTED,
  });
  const last = rows.map((row) => hub.live.transfers.get(row.id)?.row ?? transferRowOf(row, row.node.name));
  const isUnderWay = last[0] !== undefined && last[0].endedAt === null;
  const nextAt = isUnderWay ? null : dueAt(rule, (await lastDrills(hub, [run])).get(run) ?? null);
  const isDue = nextAt !== null && nextAt <= hub.now();
  return {
    run,
    everyMs: Number(rule?.everyMs ?? 0n),
    setFor: rule?.run === run ? "run" : "all",
    usualMs: Number(ruleOf(rules, ALL_RUNS)?.everyMs ?? 0n),
    last,
    nextAt,
    waitsFor: isDue ? await waitsFor(hub, known) : null,
  };
}

async function waitsFor(hub: Hub, run: { name: string; profileId: string }): Promise<string> {
  const newest = await newestComplete(hub.db, run.name);
  if (newest === null) return "a complete checkpoint";
  const isProfileBusy = (await drillingProfiles(hub)).has(run.profileId);
  const about = { profileId: newest.profileId, sizeBytes: Number(newest.sizeBytes), isProfileBusy };
  return whyNotNow(hub, about) ?? "its turn, within a minute";
}

/** Sets how often restores of a run, or of all runs, are rehearsed. @throws Fault NOT_FOUND */
export async function setDrill(
  { hub, caller }: Context,
  { run, everyMs }: z.infer<typeof setDrillInput>,
): Promise<{ ok: true }> {
  if (run !== null && (await hub.db.run.findUnique({ where: { name: run } })) === null) {
    throw new Fault("NOT_FOUND", { subject: "this run" });
  }
  const key = run ?? ALL_RUNS;
  if (everyMs === null) await hub.db.drillRule.deleteMany({ where: { run: key } });
  else {
    const setBy = caller.kind === "person" || caller.kind === "token" ? caller.person.email : "";
    const rule = { everyMs: BigInt(everyMs), setAt: new Date(hub.now()), setBy };
    await hub.db.drillRule.upsert({ where: { run: key }, update: rule, create: { run: key, ...rule } });
  }
  const often = everyMs === null ? "as usual" : everyMs === 0 ? "never" : `every ${formatDuration(everyMs)}`;
  await audit(hub, caller, { action: `restore drills: ${often}`, subject: run ?? "all runs" });
  hub.live.markStale(["runs"]);
  await runDrills(hub);
  return { ok: true };
}
