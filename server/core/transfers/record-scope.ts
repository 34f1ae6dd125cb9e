import type { Checkpoint } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import type { EventRow, TransferRow } from "#protocol/wire/views.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";

/** Changes of a batch of events, shown after the commit. */
export interface Recorded {
  events: EventRow[];
  transfers: { row: TransferRow; endedAtNode: number | null }[];
  /** Whether a command changed its state. */
  commands: boolean;
}

export interface RecordScope {
  tx: Transaction;
  hub: Hub;
  node: LiveNode;
  recorded: Recorded;
}

/** A node's report that a transfer has ended. */
export type TransferEnded = Extract<NodeEvent, { type: "transfer-ended" }>;

/**
 * A feature's hook at the end of a transfer, in the transaction that records it. `checkpoint` is null if the transfer ended
 * before its checkpoint was announced. `http` composes the list of hooks, which run in that order.
 */
export type OnTransferEnded = (
  scope: RecordScope,
  event: TransferEnded,
  checkpoint: Checkpoint | null,
) => Promise<void>;
