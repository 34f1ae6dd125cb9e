import type { RunName } from "#protocol/base/names.ts";
import type { Fault } from "#protocol/faults/fault.ts";
import type { HubFeature, NodeStore } from "#protocol/wire/hello.ts";
import type { TransferAction } from "#protocol/wire/transfer.ts";
import type { Clock } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import type { Homes } from "./homes.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import type { Capture } from "../capture/capture.ts";
import type { Ledger } from "../capture/ledger.ts";
import type { Runs } from "../capture/runs.ts";

/** Uploads captures; see uploader.ts. Also the parts it is made of. */
export interface Uploader {
  /** Uploads until the signal fires. Faults: NODE_UNKNOWN, NODE_REVOKED. */
  run(): Promise<void>;
  /** Makes failed captures wait again after circumstances changed (a new key, a new start). */
  retryFailed(): Promise<void>;
  /**
   * Sends what is nearest to being safe first, because the machine will be gone soon. Resolves when nothing is left that could
   * be sent.
   */
  drain(): Promise<void>;
  /** Passes over those of these captures that wait or failed; one that began meanwhile continues. */
  passOver(captures: readonly Capture[]): Promise<void>;
  /** Looks again, because the ledger, the hub or a person changed something. */
  wake(): void;
  readonly active: { capture: Capture; counters: ProgressCounters | null; startedAt: number } | null;
  /** Captures whose bytes are all sent and whose commit waits, by id. `fault`: the hub cannot be reached. */
  readonly uncommitted: ReadonlyMap<string, { counters: ProgressCounters | null; fault: Fault | null }>;
  /** Why the queue does not move; null without a reason. */
  readonly waitingFor: Fault | null;
  /** Pauses, resumes, cancels or retries an upload. Faults: NOT_FOUND, CONFLICT when its state does not allow it. */
  steer(transferId: string, action: TransferAction): Promise<void>;
}

/** Parts of everything that sends captures, to any bucket. */
export interface SendingParts {
  hub: Hub;
  outbox: Pick<Outbox, "add">;
  clock: Clock;
  /** Epoch ms. */
  wallNow(): number;
  journals: string;
  node(): { id: string; name: string };
  signal: AbortSignal;
}

export interface UploaderParts extends SendingParts {
  ledger: Ledger;
  runs: Runs;
  /** Returns null until the hub has said where the bytes go. */
  storeSession(item?: Capture): { engine: Engine; store: NodeStore } | null;
  /** Returns whether the hub knows a feature; null: it has said nothing yet. Left out: it knows none. */
  hubKnows?(feature: HubFeature): boolean | null;
  /** Replicas of runs; left out in tests with one bucket. */
  homes?: Pick<Homes, "choose" | "isAway" | "elsewhere" | "noteAway" | "noteBack" | "watch">;
  /** Opens the lines of training of a run that could not be opened when they began. Left out: there are none. */
  openLines?(run: RunName): Promise<void>;
  keepForCopies?(capture: Capture): Promise<boolean>;
  onEnd(capture: Capture): void;
  onWaiting(fault: Fault): void;
  /** Called when all bytes of a capture are sent: how many went over the network, and in which time. */
  onSent(sentBytes: number, tookMs: number): void;
}
