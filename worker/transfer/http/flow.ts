import type { DirectSocket } from "./socket/move-directly.ts";
import type { Pace, Paced, Pacer } from "./socket/pace.ts";
import type { Receiving } from "./receiving.ts";
import type { RttEstimator } from "./socket/rtt-estimator.ts";

/**
 * Options of `Flow`, which schedules the reads of one answer between socket and sink. When all that was ready has been read,
 * a connection that brought little rests (see `pace.ts`). Gathered bytes are passed on before they are old.
 */
export interface FlowOptions {
  socket: { pause(): unknown; resume(): unknown };
  /** Null: only the socket itself can read. */
  direct: Pick<DirectSocket, "hasInput"> | null;
  /** Reads what has come, bypassing the socket, which stays paused so that the event loop does not watch it meanwhile. */
  read(): void;
  receiving: Pick<Receiving, "hasBegun" | "isFlowing" | "isHeld" | "leftBytes" | "waitingSince" | "deliver">;
  pacer: Pacer;
  pace: Pace;
  rttEstimator: RttEstimator;
  now: () => number;
  /** Bytes that the connection brought before this body. */
  broughtBytes: number;
  onFault(error: unknown): void;
}

/** Gathered bytes are passed on after this time even if they are few. */
const MOST_WAIT_MS = 50;
/**
 * At ticks a rest may bring this multiple of the aim, because much comes at once after a lost packet. If it brings more, the
 * next rest is the shortest tick; if that brings more, too, ticks end.
 */
const FAR_TOO_MUCH = 4;
/** A body is long while more than this multiple of the aim is still to come. */
const LONG = 4;
/** A rest is negligible when a round trip takes this many times as long. */
const FAR = 12;
/** The shortest tick may be a larger share of a round trip, because other connections fill the link meanwhile. */
const FAR_ENOUGH = 7;

/** Share of the time that answers wait in queues by which a tick may be longer; longest tick. */
const QUEUE_SHARE = 1 / 4;
const EXPECTED_MS = 32;
/** An answer that takes longer, in round trips, is not looked for at ticks any more. */
const EXPECTED_TRIPS = 8;

export class Flow implements Paced {
  readonly #options: FlowOptions;
  #burstBytes = 0;
  #broughtBytes: number;
  #bytesSinceRest = 0;
  #restedAt: number;
  #isResting = false;
  /** Whether the connection is read at ticks, and not by the socket. */
  #isAtTicks = false;
  #isReadingAtTick = false;
  #isStopped = false;
  /** Length of the present rest. */
  #restMs = 0;
  #expectsUntil = 0;
  dueAt = 0;

  constructor(options: FlowOptions) {
    this.#options = options;
    this.#restedAt = options.now();
    this.#broughtBytes = options.broughtBytes;
  }

  /** Bytes of this body and of those before it on the connection. */
  get broughtBytes(): number {
    return this.#broughtBytes;
  }

  /** Whether the connection is read at ticks, and not by the socket. */
  get isAtTicks(): boolean {
    return this.#isAtTicks;
  }

  /** Counts bytes of the answer that were read. */
  came(count: number): void {
    if (this.#burstBytes === 0 && !this.#isReadingAtTick) this.#options.pacer.seen(this);
    this.#burstBytes += count;
    this.#broughtBytes += count;
  }

  /**
   * Called when the request was sent. From a far store the answer may be looked for at ticks while it can be expected.
   * Answers to thousands of small requests then wake the process once per tick. Where answers wait in queues, a longer tick
   * mostly makes the queue shorter.
   */
  expect(): void {
    const { receiving, pace, rttEstimator, socket, pacer, now } = this.#options;
    const roundTripMs = rttEstimator.leastMs() ?? 0;
    if (!this.#isFar(roundTripMs) || this.#isStopped || receiving.hasBegun) return;
    this.#isAtTicks = true;
    socket.pause();
    const nowMs = now();
    this.#expectsUntil = nowMs + EXPECTED_TRIPS * roundTripMs;
    this.#restMs = answerTickMs(pace, rttEstimator);
    this.dueAt = nextOf(this.#restMs, nowMs);
    pacer.rest(this);
  }

  settle(): void {
    if (this.#decide()) this.#options.pacer.rest(this);
  }

  /** Decides how the connection is read on. Returns true when it is to be visited at `dueAt`. */
  #decide(): boolean {
    const { receiving, pace, socket, direct, rttEstimator, now } = this.#options;
    const burst = this.#burstBytes;
    this.#burstBytes = 0;
    if (this.#isStopped) return false;
    if (!receiving.isFlowing) {
      // The sink is busy, the answer has ended, or it has no body for a sink: the socket reads by itself when it may.
      this.#leaveTicks();
      return false;
    }
    this.#bytesSinceRest += burst;
    const nowMs = now();
    let restMs = 0;
    // Near its end a body is read as it comes: the next request waits for it, and a small object is all end. So is a young
    // connection, because of its receive window. Both may wait for the shortest tick where that is negligible beside a round
    // trip.
    const isOld = this.#broughtBytes >= pace.growBytes;
    const isLong = receiving.leftBytes > LONG * pace.aimBytes;
    const roundTripMs = rttEstimator.leastMs() ?? 0;
    const mayTick = this.#isFar(roundTripMs) && (isLong || this.#isAtTicks);
    const littleBytes = this.#isAtTicks ? FAR_TOO_MUCH * pace.aimBytes : pace.aimBytes;
    const isTooMuch = burst >= littleBytes;
    const mayShorten = this.#isAtTicks && this.#restMs > pace.tickMs;
    if (pace.tickMs > 0 && (!isTooMuch || mayShorten) && ((isOld && isLong) || mayTick)) {
      const bytesPerMs = Math.max(1, this.#bytesSinceRest / Math.max(1, nowMs - this.#restedAt));
      const aimBytes = direct === null ? pace.aimBytes : FAR_TOO_MUCH * pace.aimBytes;
      const requestedMs = isOld && isLong ? Math.min(aimBytes / bytesPerMs, roundTripMs / 3) : roundTripMs / FAR;
      restMs = isTooMuch ? pace.tickMs : restFor(pace.tickMs, Math.min(pace.mostMs, requestedMs));
      this.#isResting = true;
      if (!this.#isAtTicks) socket.pause();
      this.#isAtTicks = direct !== null;
    } else {
      this.#leaveTicks();
      if (receiving.waitingSince === Infinity) return false;
    }
    this.#bytesSinceRest = 0;
    this.#restedAt = nowMs;
    this.#restMs = restMs;
    this.dueAt = restMs === 0 ? nowMs + MOST_WAIT_MS : nextOf(restMs, nowMs);
    return true;
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
    if (this.#isAtTicks) return this.#readAtTick(nowMs);
    this.wake();
    if (receiving.waitingSince === Infinity) return false;
    this.dueAt = receiving.waitingSince + MOST_WAIT_MS;
    return true;
  }

  #readAtTick(nowMs: number): boolean {
    const { receiving, direct, read } = this.#options;
    if (receiving.isHeld) {
      this.#leaveTicks();
      return false;
    }
    this.#isReadingAtTick = true;
    if (direct?.hasInput() === true) read();
    this.#isReadingAtTick = false;
    if (this.#burstBytes > 0 || this.#isStopped) return this.#decide();
    if (!receiving.hasBegun && nowMs >= this.#expectsUntil) {
      // The answer may take minutes now, so ticks would be wasted.
      this.#leaveTicks();
      return false;
    }
    this.#isResting = true;
    this.dueAt = nextOf(this.#restMs, nowMs);
    return true;
  }

  /** Lets the socket read by itself again, as soon as it may. */
  #leaveTicks(): void {
    if (!this.#isAtTicks) return;
    this.#isAtTicks = false;
    this.wake();
  }

  /** Returns whether the store is so far that the shortest tick is negligible beside a round trip. */
  #isFar(roundTripMs: number): boolean {
    const { direct, pace } = this.#options;
    return direct !== null && isFarFor(pace, roundTripMs);
  }

  /** Resumes the socket, unless the connection rests or the sink is busy. */
  wake(): void {
    const { socket, receiving } = this.#options;
    if (!this.#isResting && !this.#isAtTicks && !receiving.isHeld && !this.#isStopped) socket.resume();
  }

  stop(): void {
    this.#isStopped = true;
    this.#options.pacer.forget(this);
  }
}

/** Returns whether the store is so far that the shortest tick is negligible beside a round trip. */
export const isFarFor = (pace: Pace, roundTripMs: number): boolean =>
  pace.tickMs > 0 && roundTripMs >= FAR_ENOUGH * pace.tickMs;

/** Returns how often to look for answers, ms. Where answers wait in queues, a longer tick mostly makes the queue shorter. */
export const answerTickMs = (pace: Pace, rttEstimator: RttEstimator): number =>
  restFor(
    pace.tickMs,
    Math.min(EXPECTED_MS, (rttEstimator.leastMs() ?? 0) / FAR + rttEstimator.waitMs() * QUEUE_SHARE),
  );

/** Returns the end of a rest: rests of the same length end together. */
const nextOf = (restMs: number, nowMs: number): number => (Math.floor(nowMs / restMs) + 1) * restMs;

/** Returns the longest of one, two, four, ... ticks that is at most `mostMs`, but at least one tick. */
function restFor(tickMs: number, mostMs: number): number {
  let restMs = tickMs;
  while (restMs * 2 <= mostMs) restMs *= 2;
  return restMs;
}
