import type { Checkpoint } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import type { EventRow, TransferRow } from "#protocol/wire/views.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";

/** What a batch changed, to be shown after the transaction. */
export interface Recorded {
  events: EventRow[];
  transfers: { row: TransferRow; endedAtNode: number | null }[];
  /** Some command is in another state. */
  commands: boolean;
}

export interface RecordScope {
  tx: Transaction;
  hub: Hub;
  node: LiveNode;
  recorded: Recorded;
}

/** A node's word that a transfer has ended. */
export type TransferEnded = Extract<NodeEvent, { type: "transfer-ended" }>;

/**
 * Port: what a feature does at the end of a transfer, in the transaction that records it. `checkpoint` is null where the transfer
 * ended before its checkpoint was announced. `http` composes the list; it is called in that order.
 */
export type OnTransferEnded = (
  scope: RecordScope,
  event: TransferEnded,
  checkpoint: Checkpoint | null,
) => Promise<void>;
