import { isEnded } from "#protocol/transfer.ts";
import type { TransferRow } from "#protocol/views.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "../hub.ts";

/** Progress was never promised as durable: a restart of the hub forgets at most this much of it. */
export const WRITE_DOWN_EVERY_MS = 15_000;

/** Writes what changed since the last time: last words and reports of nodes, progress of transfers that go on. */
export async function writeDown(hub: Pick<Hub, "db" | "live">): Promise<void> {
  const nodes = [...hub.live.nodes.values()].filter((node) => node.dirty);
  const transfers = [...hub.live.transfers.values()].filter(({ dirty, row }) => dirty && !isEnded(row.state));
  if (nodes.length + transfers.length === 0) return;
  for (const node of nodes) node.dirty = false;
  for (const transfer of transfers) transfer.dirty = false;
  await hub.db.$transaction(async (tx) => {
    for (const node of nodes) {
      await tx.node.updateMany({
        where: { id: node.id },
        data: {
          lastSeenAt: node.lastSeenAt === null ? null : new Date(node.lastSeenAt),
          lastReport: node.report === null ? null : JSON.stringify({ ...node.report, transfers: [] }),
        },
      });
    }
    for (const { row } of transfers) await writeTransfer(tx, row);
  });
}

async function writeTransfer(tx: Transaction, row: TransferRow): Promise<void> {
  await tx.transfer.updateMany({
    // An end that was recorded meanwhile stays.
    where: { id: row.id, state: { notIn: ["done", "cancelled", "superseded"] } },
    data: {
      state: row.state,
      bytesDone: BigInt(row.bytesDone),
      bytesTotal: BigInt(row.bytesTotal),
      filesDone: row.filesDone,
      filesTotal: row.filesTotal,
      connections: row.connections,
      retries: row.retries,
      fault: row.fault === null ? null : JSON.stringify(row.fault),
      startedAt: row.startedAt === null ? null : new Date(row.startedAt),
      endedAt: null,
    },
  });
}

/** Writes transfers whose state has changed, at once: lists are asked for by state. */
export async function writeMoves(hub: Pick<Hub, "db" | "live">, rows: readonly TransferRow[]): Promise<void> {
  if (rows.length === 0) return;
  await hub.db.$transaction(async (tx) => {
    for (const row of rows) await writeTransfer(tx, row);
  });
}
