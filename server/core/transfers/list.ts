import type * as z from "zod";
import type { listTransfersInput } from "#protocol/wire/requests.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import type { Hub } from "../api/hub.ts";
import { NEWEST_FIRST, olderThan, pageOf, rowAt } from "#server/platform/newest-first.ts";
import { transferRowOf } from "../live/transfer-row.ts";

type Input = z.infer<typeof listTransfersInput>;

/** Returns the conditions of the filter, which all must hold. */
const conditionsOf = ({ nodeId, run, states, directions, nodeWords, runWords, from, to }: Input) => [
  ...(nodeId === null ? [] : [{ nodeId }]),
  ...(run === null ? [] : [{ run }]),
  ...(states.length === 0 ? [] : [{ state: { in: states } }]),
  ...(directions.length === 0 ? [] : [{ direction: { in: directions } }]),
  ...(nodeWords === "" ? [] : [{ node: { name: { contains: nodeWords } } }]),
  ...(runWords === "" ? [] : [{ run: { contains: runWords } }]),
  ...(from === null ? [] : [{ createdAt: { gte: new Date(from) } }]),
  ...(to === null ? [] : [{ createdAt: { lt: new Date(to) } }]),
];

/**
 * Returns transfers newest first, page by page. Running ones carry live numbers, which do not affect the paging. @throws
 * Fault NOT_FOUND when the cursor's row is gone
 */
export async function listTransfers(
  hub: Hub,
  input: Input,
): Promise<{ rows: TransferRow[]; nextCursor: string | null }> {
  const after = await rowAt(input.cursor, (id) => hub.db.transfer.findUnique({ where: { id } }));
  const found = await hub.db.transfer.findMany({
    where: { AND: [...conditionsOf(input), olderThan(after)] },
    include: { node: { select: { name: true } } },
    orderBy: NEWEST_FIRST,
    take: input.limit + 1,
  });
  return pageOf(found, {
    limit: input.limit,
    show: (row) => hub.live.transfers.get(row.id)?.row ?? transferRowOf(row, row.node.name),
  });
}
