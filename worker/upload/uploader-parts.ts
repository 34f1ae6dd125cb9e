import type { Fault } from "#protocol/faults/fault.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import type { TransferWish } from "#protocol/wire/transfer.ts";
import type { Clock } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import type { Tally } from "../transfer/progress/transfer-progress.ts";
import type { Homes } from "./homes.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import type { Capture } from "../capture/capture.ts";
import type { Ledger } from "../capture/ledger.ts";
import type { Runs } from "../capture/runs.ts";

/** What uploads captures can be told and asked (see uploader.ts), and what it is made of. */
export interface Uploader {
  /** Uploads until the signal fires. Faults: NODE_UNKNOWN, NODE_REVOKED. */
  run(): Promise<void>;
  /** Circumstances changed (a new key, a new start): what failed because of them waits again. */
  retryFailed(): Promise<void>;
  /**
   * The machine will be gone soon: what is nearest to being safe goes first, from now on. Resolves when nothing is left that
   * could be sent.
   */
  drain(): Promise<void>;
  /** Passes over these that wait or failed; one that began meanwhile goes on. */
  passOver(captures: readonly Capture[]): Promise<void>;
  /** There is something new in the ledger, or the hub or a person changed something. */
  wake(): void;
  readonly active: { capture: Capture; tally: Tally | null; startedAt: number } | null;
  /** Sent, every byte, and waiting for a hub that is away to commit them. By id of the capture. */
  readonly uncommitted: ReadonlyMap<string, { tally: Tally | null; fault: Fault }>;
  /** Why the queue does not move, when there is a reason. */
  readonly waitingFor: Fault | null;
  /** Faults: NOT_FOUND, CONFLICT when its state does not allow it. */
  steer(transferId: string, wish: TransferWish): Promise<void>;
}

/** What everything that sends captures needs, to whatever home. */
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
  /** Null until a hello told where the bytes go. */
  bench(item?: Capture): { engine: Engine; store: NodeStore } | null;
  /** Where runs have several homes; null in tests that have one. */
  homes?: Pick<Homes, "choose" | "isAway" | "elsewhere" | "noteAway" | "noteBack" | "watch">;
  keepForCopies?(capture: Capture): Promise<boolean>;
  onEnd(capture: Capture): void;
  onWaiting(fault: Fault): void;
  /** All bytes of one were sent: so many over the network, in this time. */
  onSent(sentBytes: number, tookMs: number): void;
}
