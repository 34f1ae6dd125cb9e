import type { FaultData } from "#protocol/faults/fault.ts";
import type { ClaimAnswer, NodeStore } from "#protocol/wire/hello.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import type { Capture } from "../capture/capture.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import type { Homes } from "../upload/homes.ts";
import type { SendingParts } from "../upload/uploader-parts.ts";
import type { CopyItem, CopyLedger } from "./copy-ledger.ts";

/**
 * Copies checkpoints that are safe in one bucket to the replicas of their run, from the captured files. It gives way to
 * everything else: it starts only while the node has nothing of its own to move, and stops when something begins. Parts that
 * were sent stay sent. The newest checkpoint of a run goes first; older ones that wait for the same bucket are passed over. A
 * successful copy also shows that an unreachable bucket is back.
 */
export interface Copier {
  /** Copies until the signal fires. Faults: NODE_UNKNOWN, NODE_REVOKED. */
  run(): Promise<void>;
  /** Takes a safe checkpoint. Returns whether its files are kept for the replicas that still lack it. */
  keep(item: Capture, claim: ClaimAnswer | null): Promise<boolean>;
  /** Returns captures that could be removed to make room, once per checkpoint. */
  spare(): readonly Capture[];
  /** Gives up the copies of these captures. */
  passOver(captures: readonly Capture[]): Promise<void>;
  has(transferId: string): boolean;
  /** Cancels, pauses, resumes or retries a copy. Faults: NOT_FOUND. */
  steer(transferId: string, action: "cancel" | "pause" | "resume" | "retry"): Promise<void>;
  progress(): TransferProgress[];
  wake(): void;
  readonly isActive: boolean;
}

/** Parts of a copier. */
export interface CopierParts extends SendingParts {
  ledger: CopyLedger;
  homes: Pick<Homes, "owed" | "storeOf" | "watch" | "noteBack" | "elsewhere">;
  own(): NodeStore | null;
  storeSession(store: NodeStore): { engine: Engine; store: NodeStore };
  /** Returns whether a transfer of this node's own runs or waits. */
  isBusy(): boolean;
  /** Returns whether a person holds the uploads of the run. */
  isHeld(run: string): boolean;
  onEnd?(item: CopyItem, state: "done" | "failed"): void;
}

/** The copy that is being sent. */
export interface ActiveCopy {
  item: CopyItem;
  counters: ProgressCounters | null;
  engine: Engine;
  startedAt: number;
  stop: AbortController;
  ended: Promise<void>;
}

/** Wait after a failure: until when, by the monotonic clock; how often the copy was begun under fresh keys; the last fault. */
export interface CopyWait {
  until: number;
  renewals: number;
  fault: FaultData | null;
}

/** State of one copier that its queue, its attempts and its reports share. */
export interface CopyState {
  active: ActiveCopy | null;
  /** Waits by id of the transfer. */
  waits: Map<string, CopyWait>;
}

/** Returns what an item waits for; one that never failed waits for nothing. */
export const waitOf = ({ waits }: CopyState, { capture }: CopyItem): CopyWait =>
  waits.get(capture.transferId) ?? { until: 0, renewals: 0, fault: null };
