import { isFarFor } from "./flow.ts";
import type { DirectSocket } from "./socket/move-directly.ts";
import type { Pace } from "./socket/pace.ts";
import type { Reader } from "./socket/read-at-ticks.ts";
import type { Receiving } from "./receiving.ts";
import type { RttEstimator } from "./socket/rtt-estimator.ts";

/**
 * Schedules the reads of a small body, which is complete before a rest would help. From a far store it is read at ticks,
 * together with those on other connections, while the socket is paused. Otherwise it is read as it comes.
 */
export class SmallFlow implements Reader {
  readonly #options: SmallFlowOptions;
  #isAtTicks: boolean;
  broughtBytes: number;

  constructor(options: SmallFlowOptions) {
    const { socket, direct, broughtBytes, pace, rttEstimator } = options;
    this.#options = options;
    this.broughtBytes = broughtBytes;
    this.#isAtTicks = isFarFor(pace, rttEstimator.leastMs() ?? 0) && direct?.expect(this) === true;
    if (this.#isAtTicks) socket.pause();
  }

  get isAtTicks(): boolean {
    return this.#isAtTicks;
  }

  came(count: number): void {
    this.broughtBytes += count;
  }

  read(): void {
    const { receiving, read } = this.#options;
    if (receiving.isOpen) read();
  }

  leave(): void {
    this.#isAtTicks = false;
    if (!this.#options.receiving.isHeld) this.wake();
  }

  /** Does nothing: the body is already read at ticks, or as it comes. */
  expect(): void {}

  /** Resumes the socket, unless it is read at ticks. */
  wake(): void {
    if (!this.#isAtTicks) this.#options.socket.resume();
  }

  stop(): void {
    if (this.#isAtTicks) this.#options.direct?.forget();
    this.#isAtTicks = false;
  }
}

export interface SmallFlowOptions {
  socket: { pause(): unknown; resume(): unknown };
  direct: Pick<DirectSocket, "expect" | "forget"> | null;
  receiving: Pick<Receiving, "isOpen" | "isHeld">;
  /** Bytes that the connection brought before this body. */
  broughtBytes: number;
  pace: Pace;
  rttEstimator: RttEstimator;
  /** Reads what has come, bypassing the socket. */
  read(): void;
}
