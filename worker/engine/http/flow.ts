import type { Pace, Paced, Pacer } from "./pace.ts";
import type { Receiving } from "./receiving.ts";
import type { Trips } from "./trips.ts";

/**
 * The body of one answer between socket and sink, in time: after everything that was ready has been read, a connection
 * that brought little rests, and what has gathered is handed on before it is old.
 */
export interface FlowOptions {
  socket: { pause(): unknown; resume(): unknown };
  receiving: Pick<Receiving, "isFlowing" | "isHeld" | "leftBytes" | "waitingSince" | "deliver">;
  pacer: Pacer;
  pace: Pace;
  trips: Trips;
  now: () => number;
  /** Bytes that the connection brought before this body. */
  broughtBytes: number;
  onFault(error: unknown): void;
}

/** What has gathered is handed on after this time even if it is little. */
const MOST_WAIT_MS = 50;

export class Flow implements Paced {
  readonly #options: FlowOptions;
  #burstBytes = 0;
  #broughtBytes: number;
  #bytesSinceRest = 0;
  #restedAt: number;
  #isResting = false;
  #isStopped = false;
  dueAt = 0;

  constructor(options: FlowOptions) {
    this.#options = options;
    this.#restedAt = options.now();
    this.#broughtBytes = options.broughtBytes;
  }

  /** By this body and those before it. */
  get broughtBytes(): number {
    return this.#broughtBytes;
  }

  /** Bytes of an answer were read. */
  came(count: number): void {
    if (this.#burstBytes === 0) this.#options.pacer.seen(this);
    this.#burstBytes += count;
    this.#broughtBytes += count;
  }

  settle(): void {
    const { receiving, pace, pacer, socket, trips, now } = this.#options;
    const burst = this.#burstBytes;
    this.#burstBytes = 0;
    if (this.#isStopped || !receiving.isFlowing) return;
    this.#bytesSinceRest += burst;
    const nowMs = now();
    let restMs = 0;
    // Near its end a body is read as it comes: the next request waits for it, and a small object is all end.
    const hasGrown = this.#broughtBytes >= pace.growBytes;
    if (pace.tickMs > 0 && hasGrown && burst < pace.aimBytes && receiving.leftBytes > 4 * pace.aimBytes) {
      const bytesPerMs = Math.max(1, this.#bytesSinceRest / Math.max(1, nowMs - this.#restedAt));
      const roundTripMs = trips.leastMs() ?? 0;
      restMs = restFor(pace, Math.min(pace.aimBytes / bytesPerMs, roundTripMs / 3));
      this.#isResting = true;
      socket.pause();
    } else if (receiving.waitingSince === Infinity) return;
    this.#bytesSinceRest = 0;
    this.#restedAt = nowMs;
    // Rests of the same length end together.
    this.dueAt = restMs === 0 ? nowMs + MOST_WAIT_MS : (Math.floor(nowMs / restMs) + 1) * restMs;
    pacer.rest(this);
  }

  visit(nowMs: number): boolean {
    const { receiving, onFault } = this.#options;
    if (this.#isStopped) return false;
    try {
      if (nowMs - receiving.waitingSince >= MOST_WAIT_MS) receiving.deliver();
    } catch (error) {
      onFault(error);
      return false;
    }
    this.#isResting = false;
    this.wake();
    if (receiving.waitingSince === Infinity) return false;
    this.dueAt = receiving.waitingSince + MOST_WAIT_MS;
    return true;
  }

  /** Reads on, unless this is the time to rest or the sink is busy. */
  wake(): void {
    const { socket, receiving } = this.#options;
    if (!this.#isResting && !receiving.isHeld && !this.#isStopped) socket.resume();
  }

  stop(): void {
    this.#isStopped = true;
    this.#options.pacer.forget(this);
  }
}

/** One, two, four, ... ticks: the longest that is not longer than wished or allowed. */
function restFor(pace: Pace, wishedMs: number): number {
  const most = Math.min(pace.mostMs, wishedMs);
  let restMs = pace.tickMs;
  while (restMs * 2 <= most) restMs *= 2;
  return restMs;
}
