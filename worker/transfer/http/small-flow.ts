import { isFarFor } from "./flow.ts";
import type { DirectSocket } from "./socket/move-directly.ts";
import type { Pace } from "./socket/pace.ts";
import type { Reader } from "./socket/read-at-ticks.ts";
import type { Receiving } from "./receiving.ts";
import type { Trips } from "./socket/rtt-estimator.ts";

/**
 * A small body between socket and sink, in time: it is there before a rest would be of use. Where the store is far it is looked for
 * together with those on other connections, and the socket does not read by itself; otherwise it is read as it comes.
 */
export class SmallFlow implements Reader {
  readonly #options: SmallFlowOptions;
  #isAtTicks: boolean;
  broughtBytes: number;

  constructor(options: SmallFlowOptions) {
    const { socket, direct, broughtBytes, pace, trips } = options;
    this.#options = options;
    this.broughtBytes = broughtBytes;
    this.#isAtTicks = isFarFor(pace, trips.leastMs() ?? 0) && direct?.expect(this) === true;
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

  /** It is read at ticks, or as it comes. */
  expect(): void {}

  /** Reads on, unless that is done at ticks. */
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
  trips: Trips;
  /** What is there, past the socket. */
  read(): void;
}
