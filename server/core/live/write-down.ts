import { isEnded } from "#protocol/wire/transfer.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import type { Database, Transaction } from "#prisma/open.ts";
import { wordsOf } from "#prisma/sql-words.ts";
import type { Live } from "./live.ts";
import type { LiveNode } from "./live-node.ts";

/**
 * Stores progress from memory. Progress is not durable: a restart of the hub loses what was not stored. The oldest state is
 * stored first, at a rate that keeps a small fleet at most 15 s and a large one a minute behind. Batches are small, so that
 * nobody waits. One statement updates hundreds of rows, which the database reads from JSON.
 */

const AGE_MS = 15_000;
const OLDEST_MS = 60_000;
const ROWS_PER_STATEMENT = 250;

/**
 * Returns the nodes to store now: none until the oldest change is old enough. Then it is all of a small fleet, or a share of
 * a large one that covers the fleet in a minute. Younger changes go along, because one flush of the disk then serves them
 * all.
 */
function dueOf(nodes: Iterable<LiveNode>, now: number): LiveNode[] {
  const dirty = [...nodes].filter((node) => node.dirty).toSorted((a, b) => a.writtenAt - b.writtenAt);
  const old = dirty.filter((node) => now - node.writtenAt >= AGE_MS).length;
  if (old === 0) return [];
  return dirty.slice(0, Math.max(ROWS_PER_STATEMENT, Math.ceil((old * 1_000) / (OLDEST_MS - AGE_MS))));
}

async function writeNodes(tx: Transaction, nodes: readonly LiveNode[]): Promise<void> {
  for (let from = 0; from < nodes.length; from += ROWS_PER_STATEMENT) {
    const reports = nodes.slice(from, from + ROWS_PER_STATEMENT).map(({ id, lastSeenAt, report }) => ({
      id,
      lastSeenAt,
      report: report === null ? null : JSON.stringify({ ...report, transfers: [] }),
    }));
    const { from: table, at } = wordsOf(tx).table({ id: "text", lastSeenAt: "time", report: "text" }, reports);
    await tx.$executeRaw`
      UPDATE "Node" SET "lastSeenAt" = ${at("lastSeenAt")}, "lastReport" = ${at("report")}
      FROM ${table} WHERE "Node"."id" = ${at("id")}`;
  }
}

const TRANSFER_COLUMNS = {
  id: "text",
  state: "text",
  bytesDone: "number",
  bytesTotal: "number",
  filesDone: "number",
  filesTotal: "number",
  connections: "number",
  retries: "number",
  fault: "text",
  startedAt: "time",
} as const;

/** Updates transfers. A recorded end stays, except that a failed transfer may be retried. */
async function writeTransfers(tx: Transaction, rows: readonly TransferRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
    const moves = rows.slice(from, from + ROWS_PER_STATEMENT).map((row) => ({
      id: row.id,
      state: row.state,
      bytesDone: row.bytesDone,
      bytesTotal: row.bytesTotal,
      filesDone: row.filesDone,
      filesTotal: row.filesTotal,
      connections: row.connections,
      retries: row.retries,
      fault: row.fault === null ? null : JSON.stringify(row.fault),
      startedAt: row.startedAt,
    }));
    const { from: table, at } = wordsOf(tx).table(TRANSFER_COLUMNS, moves);
    await tx.$executeRaw`
      UPDATE "Transfer" SET "state" = ${at("state")}, "bytesDone" = ${at("bytesDone")}, "bytesTotal" = ${at("bytesTotal")},
        "filesDone" = ${at("filesDone")}, "filesTotal" = ${at("filesTotal")}, "connections" = ${at("connections")},
        "retries" = ${at("retries")}, "fault" = ${at("fault")}, "startedAt" = ${at("startedAt")}, "endedAt" = NULL
      FROM ${table}
      WHERE "Transfer"."id" = ${at("id")} AND "Transfer"."state" NOT IN ('done', 'cancelled', 'superseded')`;
  }
}

interface WrittenFrom {
  db: Database;
  live: Live;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Stores the last reports of nodes and the progress of open transfers. `everything` is for the shutdown of the hub. */
export async function writeDown(hub: WrittenFrom, extent: "due" | "everything"): Promise<void> {
  const now = hub.now();
  const all = hub.live.nodes.values();
  const nodes = extent === "everything" ? [...all].filter((node) => node.dirty) : dueOf(all, now);
  const isDue = extent === "everything" || now - hub.live.transfersWrittenAt >= AGE_MS;
  const transfers = isDue
    ? [...hub.live.transfers.values()].filter(({ dirty, row }) => dirty && !isEnded(row.state))
    : [];
  if (isDue) hub.live.transfersWrittenAt = now;
  if (nodes.length + transfers.length === 0) return;
  for (const node of nodes) {
    node.dirty = false;
    node.writtenAt = now;
  }
  for (const transfer of transfers) transfer.dirty = false;
  await hub.db.$transaction(async (tx) => {
    await writeNodes(tx, nodes);
    await writeTransfers(
      tx,
      transfers.map(({ row }) => row),
    );
  });
}

/** Stores transfers whose state has changed, at once, because lists filter by state. */
export async function writeMoves(hub: Pick<WrittenFrom, "db">, rows: readonly TransferRow[]): Promise<void> {
  if (rows.length === 0) return;
  await hub.db.$transaction((tx) => writeTransfers(tx, rows));
}
