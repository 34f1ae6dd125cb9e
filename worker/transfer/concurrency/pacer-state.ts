import type { Clock } from "#worker/base/clock.ts";
import type { PacedSocket, Wire } from "../http/http-client.ts";
import type { LinkRate } from "./rate-allocation.ts";

/** One part that is paced. */
export interface Member {
  lengthBytes: number;
  /** Null: its bytes are counted out. */
  socket: PacedSocket | null;
  /** By this socket, before it began. */
  ackedBefore: number;
  movedBytes: number;
  /** Moved bytes at the last reviews. */
  seen: { at: number; bytes: number }[];
  pace: number;
  tokens: number;
  wasHeld: boolean;
  /** Given, and not asked for again yet. */
  granted: number;
  waiting: { bytes: number; goOn(): void } | null;
}

/** What a pacer is made of. */
export interface PacerParts {
  clock: Pick<Clock, "now" | "random">;
  wire: Pick<Wire, "measureRtt" | "rttMs">;
  /** Nothing waits for one of these parts to end. */
  isLast(): boolean;
}

/** State that the ticks, the reviews and the grants of one pacer share. */
export interface PacerState extends PacerParts {
  members: Set<Member>;
  timer: NodeJS.Timeout | null;
  joinedAt: number;
  tickedAt: number;
  reviewedAt: number;
  link: LinkRate | null;
  /** The parts are the last ones, and many enough and far enough to be paced. */
  isClose: boolean;
  /** Bytes per second that sockets told of at the last reviews, together. */
  lately: readonly number[];
  /** What may be given to all of those whose bytes are counted. */
  budget: number;
  isProbing: boolean;
  /** The last two, so that one that was late by chance does not count. */
  probes: readonly [number | null, number | null];
}

/** Returns the state of a pacer without parts. */
export const newPacerState = (parts: PacerParts): PacerState => ({
  ...parts,
  members: new Set(),
  timer: null,
  joinedAt: 0,
  tickedAt: 0,
  reviewedAt: 0,
  link: null,
  isClose: false,
  lately: [],
  budget: 0,
  isProbing: false,
  probes: [null, null],
});

/** A time in round trips, within bounds. */
export interface RoundTripTime {
  roundTrips: number;
  leastMs: number;
  mostMs: number;
}

/** Returns it in milliseconds for a link of this round trip time. */
export const within = ({ roundTrips, leastMs, mostMs }: RoundTripTime, rttMs: number): number =>
  Math.min(mostMs, Math.max(leastMs, roundTrips * rttMs));

/** A socket is told of nothing less. */
const LEAST_CHANGE = 0.03;

/** Sets the pace of one part, where it differs enough from the present one. Infinity: no limit. */
export function setPace(one: Member, pace: number): void {
  const isNew = Math.abs(pace - one.pace) > one.pace * LEAST_CHANGE || (pace === Infinity) !== (one.pace === Infinity);
  if (one.socket !== null && !isNew) return;
  one.pace = pace;
  one.socket?.pace(pace);
}
