import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import type { listTransfersInput } from "#protocol/requests.ts";
import type { TransferRow } from "#protocol/views.ts";
import type { Hub } from "../hub.ts";
import { transferRowOf } from "./transfer-row.ts";

/**
 * Newest first, page by page. What moves now carries its live numbers; which page a row is on does not depend on them.
 * @throws Fault NOT_FOUND when the cursor's row is gone
 */
export async function listTransfers(
  hub: Hub,
  input: z.infer<typeof listTransfersInput>,
): Promise<{ rows: TransferRow[]; nextCursor: string | null }> {
  const after = input.cursor === null ? null : await hub.db.transfer.findUnique({ where: { id: input.cursor } });
  if (input.cursor !== null && after === null) throw new Fault("NOT_FOUND", { subject: "the page" });
  const found = await hub.db.transfer.findMany({
    where: {
      ...(input.nodeId === null ? {} : { nodeId: input.nodeId }),
      ...(input.run === null ? {} : { run: input.run }),
      ...(input.states.length === 0 ? {} : { state: { in: input.states } }),
      ...(after === null
        ? {}
        : { OR: [{ createdAt: { lt: after.createdAt } }, { createdAt: after.createdAt, id: { lt: after.id } }] }),
    },
    include: { node: { select: { name: true } } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: input.limit + 1,
  });
  const rows = found
    .slice(0, input.limit)
    .map((row) => hub.live.transfers.get(row.id)?.row ?? transferRowOf(row, row.node.name));
  return { rows, nextCursor: found.length > input.limit ? (rows.at(-1)?.id ?? null) : null };
}
