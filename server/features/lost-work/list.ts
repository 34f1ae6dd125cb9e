import type * as z from "zod";
import type { listLossesInput } from "#protocol/wire/requests.ts";
import type { LossRow } from "#protocol/history/losses.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { readPrices } from "./prices.ts";

/** Lists lost work, newest first. */
export async function listLosses(hub: Hub, input: z.infer<typeof listLossesInput>): Promise<LossRow[]> {
  const rows = await hub.db.loss.findMany({
    where: {
      ...(input.run === null ? {} : { run: input.run }),
      ...(input.nodeId === null ? {} : { nodeId: input.nodeId }),
      ...(input.before === null ? {} : { at: { lt: new Date(input.before) } }),
    },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: input.limit,
  });
  const prices = await readPrices(hub);
  return rows.map((row) => ({
    id: row.id,
    at: row.at.getTime(),
    run: row.run,
    epoch: row.epoch,
    nodeId: row.nodeId,
    nodeName: hub.live.nodes.get(row.nodeId)?.name ?? null,
    byNodeId: row.byNodeId,
    byNodeName: hub.live.nodes.get(row.byNodeId)?.name ?? null,
    fromStep: row.fromStep === null ? null : Number(row.fromStep),
    lastStep: Number(row.lastStep),
    lostSteps: Number(row.lostSteps),
    lostMs: Number(row.lostMs),
    isEstimated: row.isEstimated,
    cost: prices.costOf(row.run, Number(row.lostMs)),
  }));
}
