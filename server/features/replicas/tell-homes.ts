import type * as z from "zod";
import type { RunHomes, runHomesInput } from "#protocol/wire/homes.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { nodeStoreOf } from "#server/core/nodes/hello.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { homesOf } from "#server/core/profiles/homes-of.ts";
import { byFitness, ratesTo } from "#server/core/runs/offer-copies.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/**
 * Returns the replicas of a run to a node of one of them: nearest first, by the node's own transfer history with each bucket.
 * The node itself may know better, and knows which buckets it cannot reach.
 * @throws Fault NOT_THIS_NODES
 */
export async function tellHomes(
  { hub, caller }: Context & { caller: NodeCaller },
  { run }: z.infer<typeof runHomesInput>,
): Promise<RunHomes> {
  const of = await homesOf(hub.db, run);
  if (of === null || !of.profileIds.includes(caller.profileId)) {
    throw new Fault("NOT_THIS_NODES", { op: "homes", subject: run });
  }
  const { profileIds, copies } = of;
  const rates = ratesTo(hub, { nodeId: caller.nodeId, profileIds, wanted: "upload" });
  const homes: (RunHomes["homes"][number] & Parameters<typeof byFitness>[0])[] = [];
  for (const profileId of profileIds) {
    const store = await nodeStoreOf(hub, profileId, run);
    const bytesPerSecond = rates.get(profileId) ?? null;
    if (store !== null) homes.push({ store, bytesPerSecond, isDamaged: false, isAway: false });
  }
  return {
    run,
    copies,
    homes: homes.toSorted(byFitness).map(({ store, bytesPerSecond }) => ({ store, bytesPerSecond })),
  };
}
