import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { newestComplete } from "#server/core/runs/newest.ts";

/** Steps of an attempt that is not over. */
export interface StepsNow {
  /** The last step that its node reported, or the newest safe one; null before both. */
  toStep: number | null;
  /** The newest step that is complete in the bucket. */
  safeStep: number | null;
}

/** Returns the steps of an open attempt by the last report of its node and the newest complete checkpoint of its run. */
export async function stepsNow(
  { live }: Pick<Hub, "live">,
  tx: Pick<Transaction, "checkpoint">,
  { nodeId, run }: { nodeId: string; run: string },
): Promise<StepsNow> {
  const newest = await newestComplete(tx, run);
  const said = live.nodes.get(nodeId)?.report?.runs.find((one) => one.run === run);
  const safeStep = newest === null ? null : Number(newest.step);
  return { toStep: said?.trainedStep ?? said?.localStep ?? safeStep, safeStep };
}
