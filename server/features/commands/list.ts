import type * as z from "zod";
import type { CommandRow, listCommandsInput } from "#protocol/wire/send-command.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { NEWEST_FIRST, olderThan, pageOf, rowAt } from "#server/platform/newest-first.ts";
import { commandRowOf } from "./command-row.ts";

/** Lists commands, newest first, page by page. @throws Fault NOT_FOUND when the cursor's row is gone */
export async function listCommands(
  hub: Hub,
  input: z.infer<typeof listCommandsInput>,
): Promise<{ rows: CommandRow[]; nextCursor: string | null }> {
  const after = await rowAt(input.cursor, (id) => hub.db.command.findUnique({ where: { id } }));
  const found = await hub.db.command.findMany({
    where: {
      ...(input.nodeId === null ? {} : { nodeId: input.nodeId }),
      ...(input.run === null ? {} : { run: input.run }),
      ...(input.requestId === null ? {} : { batchId: input.requestId }),
      ...(input.states.length === 0 ? {} : { state: { in: input.states } }),
      ...olderThan(after),
    },
    include: { node: { select: { name: true } } },
    orderBy: NEWEST_FIRST,
    take: input.limit + 1,
  });
  return pageOf(found, { limit: input.limit, show: (row) => commandRowOf(row, row.node.name) });
}
