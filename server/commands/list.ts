import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import type { CommandRow, listCommandsInput } from "#protocol/send-command.ts";
import type { Hub } from "../hub.ts";
import { commandRowOf } from "./command-row.ts";

/** Newest first, page by page. @throws Fault NOT_FOUND when the cursor's row is gone */
export async function listCommands(
  hub: Hub,
  input: z.infer<typeof listCommandsInput>,
): Promise<{ rows: CommandRow[]; nextCursor: string | null }> {
  const after = input.cursor === null ? null : await hub.db.command.findUnique({ where: { id: input.cursor } });
  if (input.cursor !== null && after === null) throw new Fault("NOT_FOUND", { subject: "the page" });
  const found = await hub.db.command.findMany({
    where: {
      ...(input.nodeId === null ? {} : { nodeId: input.nodeId }),
      ...(input.run === null ? {} : { run: input.run }),
      ...(input.requestId === null ? {} : { batchId: input.requestId }),
      ...(input.states.length === 0 ? {} : { state: { in: input.states } }),
      ...(after === null
        ? {}
        : { OR: [{ createdAt: { lt: after.createdAt } }, { createdAt: after.createdAt, id: { lt: after.id } }] }),
    },
    include: { node: { select: { name: true } } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: input.limit + 1,
  });
  const rows = found.slice(0, input.limit).map((row) => commandRowOf(row, row.node.name));
  return { rows, nextCursor: found.length > input.limit ? (rows.at(-1)?.id ?? null) : null };
}
