import type { FaultData } from "#protocol/faults/fault.ts";
import type { ClaimAnswer, NodeStore } from "#protocol/wire/hello.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import type { Capture } from "../capture/capture.ts";
import type { Engine } from "../transfer/engine.ts";
import type { Tally } from "../transfer/progress/transfer-progress.ts";
import type { Homes } from "../upload/homes.ts";
import type { SendingParts } from "../upload/uploader-parts.ts";
import type { CopyItem, CopyLedger } from "./copy-ledger.ts";

/**
 * Brings what is safe in one home to the others, from the files that were captured. It leaves everything else its turn: nothing
 * of the node's own may wait or move, and what begins meanwhile ends it; what was sent stays sent. The newest checkpoint of a
 * run goes first, and older ones that wait for the same home are passed over. It is also how a home that was out of reach is
 * found to be back.
 */
export interface Copier {
  /** Until the signal fires. Faults: NODE_UNKNOWN, NODE_REVOKED. */
  run(): Promise<void>;
  /** A checkpoint is safe: whether its files are kept for the homes that it is still wanted in. */
  keep(item: Capture, claim: ClaimAnswer | null): Promise<boolean>;
  /** What could go to make room, once per checkpoint. */
  spare(): readonly Capture[];
  /** Gives these up. */
  passOver(captures: readonly Capture[]): Promise<void>;
  has(transferId: string): boolean;
  /** Faults: NOT_FOUND. */
  steer(transferId: string, wish: "cancel" | "pause" | "resume" | "retry"): Promise<void>;
  progress(): TransferProgress[];
  wake(): void;
  readonly isActive: boolean;
}

/** What a copier is made of. */
export interface CopierParts extends SendingParts {
  ledger: CopyLedger;
  homes: Pick<Homes, "owed" | "storeOf" | "watch" | "noteBack" | "elsewhere">;
  own(): NodeStore | null;
  bench(store: NodeStore): { engine: Engine; store: NodeStore };
  /** The node has something of its own to move. */
  isBusy(): boolean;
  /** A person said that uploads of the run wait. */
  isHeld(run: string): boolean;
  onEnd?(item: CopyItem, state: "done" | "failed"): void;
}

/** The copy that is being sent. */
export interface ActiveCopy {
  item: CopyItem;
  tally: Tally | null;
  engine: Engine;
  startedAt: number;
  stop: AbortController;
  ended: Promise<void>;
}

/** After a failure: not before this time, by the monotonic clock; how often it was begun under fresh keys; the last fault. */
export interface CopyWait {
  until: number;
  renewals: number;
  fault: FaultData | null;
}

/** State of one copier that its queue, its attempts and its reports share. */
export interface CopyState {
  active: ActiveCopy | null;
  /** By transfer. */
  waits: Map<string, CopyWait>;
}

/** Returns what an item waits for; one that never failed waits for nothing. */
export const waitOf = ({ waits }: CopyState, { capture }: CopyItem): CopyWait =>
  waits.get(capture.transferId) ?? { until: 0, renewals: 0, fault: null };
