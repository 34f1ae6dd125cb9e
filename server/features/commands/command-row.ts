import { command, type CommandDetail, type CommandKind, type CommandState } from "#protocol/wire/commands.ts";
import { nodeCommand } from "#protocol/wire/command-shapes.ts";
import type { CommandRow } from "#protocol/wire/send-command.ts";
import type { Command } from "#prisma/client/client.ts";
import { storedFault } from "#server/core/events/event-row.ts";

const msOf = (at: Date | null): number | null => at?.getTime() ?? null;

export function commandRowOf(row: Command, nodeName: string): CommandRow {
  const body = command.safeParse(JSON.parse(row.body));
  const order = row.transferId === "" && body.success ? nodeCommand.safeParse(body.data).data : undefined;
  return {
    id: row.id,
    requestId: row.batchId,
    nodeId: row.nodeId,
    nodeName,
    kind: row.kind as CommandKind,
    order: order ?? null,
    run: row.run,
    state: row.state as CommandState,
    fault: storedFault(row.fault),
    detail: row.detail === null ? null : (JSON.parse(row.detail) as CommandDetail),
    by: row.actor,
    createdAt: row.createdAt.getTime(),
    expiresAt: msOf(row.expiresAt),
    acceptedAt: msOf(row.acceptedAt),
    endedAt: msOf(row.endedAt),
  };
}
