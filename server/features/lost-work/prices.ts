import type * as z from "zod";
import type { Money, NodePriceView, setNodePriceInput } from "#protocol/history/losses.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";

/** Prices of an hour of a node, for one run or for all runs without a price of their own. */

const HOUR_MS = 3_600_000;
/** Scope of the fleet's price; no run has an empty name. */
const FLEET_SCOPE = "";

export interface Prices {
  of(run: string): (NodePriceView & { of: "run" | "fleet" }) | null;
  fleet: NodePriceView | null;
  /** Returns the cost of this much time of one node; null without a price. */
  costOf(run: string, ms: number): Money | null;
}

/** Reads all prices; people typed them, so there are few. */
export async function readPrices(hub: Pick<Hub, "db">): Promise<Prices> {
  const rows = new Map((await hub.db.nodePrice.findMany()).map((row) => [row.scope, row]));
  const at = (scope: string): NodePriceView | null => {
    const row = rows.get(scope);
    return row === undefined ? null : { perHour: row.perHour, currency: row.currency };
  };
  const fleet = at(FLEET_SCOPE);
  const of: Prices["of"] = (run) => {
    const own = at(run);
    if (own !== null) return { ...own, of: "run" };
    return fleet === null ? null : { ...fleet, of: "fleet" };
  };
  return {
    of,
    fleet,
    costOf: (run, ms) => {
      const price = of(run);
      return price === null ? null : { currency: price.currency, amount: (price.perHour * ms) / HOUR_MS };
    },
  };
}

/** Sets or removes a price. @throws Fault NOT_FOUND when there is no such run */
export async function setPrice(
  context: Context,
  { run, price }: z.infer<typeof setNodePriceInput>,
): Promise<{ ok: true }> {
  const { hub } = context;
  if (run !== null && (await hub.db.run.count({ where: { name: run } })) === 0)
    throw new Fault("NOT_FOUND", { subject: run });
  const scope = run ?? FLEET_SCOPE;
  if (price === null) await hub.db.nodePrice.deleteMany({ where: { scope } });
  else {
    const data = { ...price, isFromGroup: false, updatedAt: new Date(hub.now()) };
    await hub.db.nodePrice.upsert({ where: { scope }, update: data, create: { scope, ...data } });
  }
  const words = price === null ? "none" : `${price.perHour} ${price.currency} an hour`;
  await audit(hub, context.caller, { action: "set node price", subject: `${run ?? "all runs"}: ${words}` });
  emit(hub, null, ["runs"]);
  return { ok: true };
}
