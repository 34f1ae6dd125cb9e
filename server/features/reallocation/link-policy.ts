import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { NO_THRESHOLDS, type LinkThresholds } from "#protocol/links/probe.ts";
import type { FleetThresholds, setThresholdsInput } from "#protocol/links/thresholds.ts";
import { formatRate } from "#protocol/base/units.ts";
import type { LinkPolicy } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** Id of the only row. */
const ID = 1;

const viewOf = (row: LinkPolicy | null): FleetThresholds => ({
  up: row?.up ?? null,
  down: row?.down ?? null,
  rttMs: row?.rttMs ?? null,
  version: row?.version ?? 0,
  setAt: row?.setAt.getTime() ?? null,
  setBy: row?.setBy ?? null,
});

/** Returns the thresholds of the fleet for every link, and who set them. */
export const readThresholds = async ({ db }: Pick<Hub, "db">): Promise<FleetThresholds> =>
  viewOf(await db.linkPolicy.findUnique({ where: { id: ID } }));

/** Returns the thresholds in the form that nodes get at their start. */
export async function thresholdsForNodes(hub: Pick<Hub, "db">): Promise<LinkThresholds> {
  const { up, down, rttMs } = await readThresholds(hub);
  return { ...NO_THRESHOLDS, up, down, rttMs };
}

function wordsOf({ up, down, rttMs }: LinkThresholds): string {
  const parts = [
    up === null ? null : `${formatRate(up)} up`,
    down === null ? null : `${formatRate(down)} down`,
    rttMs === null ? null : `round trip ${Math.round(rttMs)} ms`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

/** Sets the thresholds for nodes that start or measure from now on. @throws Fault CONFLICT when somebody changed them meanwhile */
export async function setThresholds(
  { hub, caller }: Context & { caller: PersonCaller },
  { thresholds, version }: z.infer<typeof setThresholdsInput>,
): Promise<FleetThresholds> {
  const row = await hub.db.$transaction(async (tx) => {
    const known = await tx.linkPolicy.findUnique({ where: { id: ID } });
    if ((known?.version ?? 0) !== version) {
      const detail = `${known?.setBy ?? "somebody"} changed it`;
      throw new Fault("CONFLICT", { subject: "the thresholds of the fleet", detail });
    }
    const { up, down, rttMs } = thresholds;
    const set = { setAt: new Date(hub.now()), setBy: caller.person.email };
    const data = { up, down, rttMs, version: version + 1, ...set };
    const row = await tx.linkPolicy.upsert({ where: { id: ID }, update: data, create: { id: ID, ...data } });
    await audit({ db: tx, now: hub.now }, caller, { action: "link thresholds set", subject: wordsOf(thresholds) });
    return row;
  });
  return viewOf(row);
}
