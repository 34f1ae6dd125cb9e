import type { Clock } from "#worker/base/clock.ts";
import type { PacedSocket, HttpClient } from "../http/http-client.ts";
import type { LinkRate } from "./rate-allocation.ts";

/** One part that is paced. */
export interface Member {
  lengthBytes: number;
  /** Socket that paces itself; null when the pacer grants the part its bytes. */
  socket: PacedSocket | null;
  /** Bytes that this socket had acknowledged before the part began. */
  ackedBefore: number;
  movedBytes: number;
  /** Moved bytes at the last reviews. */
  seen: { at: number; bytes: number }[];
  pace: number;
  tokens: number;
  wasHeld: boolean;
  /** Bytes granted and not yet taken. */
  granted: number;
  waiting: { bytes: number; goOn(): void } | null;
}

/** Dependencies of a pacer. */
export interface PacerParts {
  clock: Pick<Clock, "now" | "random">;
  httpClient: Pick<HttpClient, "measureRtt" | "rttMs">;
  /** Returns whether no further part waits for one of these to end. */
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
  /** Whether pacing applies: these are the last parts, there are enough of them, and the RTT is long enough. */
  isClose: boolean;
  /** Bytes per second of all sockets together, as reported at the last reviews. */
  lately: readonly number[];
  /** Bytes that may be granted at present, to all parts without a pacing socket together. */
  budget: number;
  isProbing: boolean;
  /** The last two RTT probes, ms. The shorter one counts, so one that was late by chance does not matter. */
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

/** Returns the time in milliseconds for a link of this RTT. */
export const within = ({ roundTrips, leastMs, mostMs }: RoundTripTime, rttMs: number): number =>
  Math.min(mostMs, Math.max(leastMs, roundTrips * rttMs));

/** Smaller relative changes are not passed on to the socket. */
const LEAST_CHANGE = 0.03;

/** Sets the pace of one part in bytes per second, if it differs enough from the present one. Infinity: no limit. */
export function setPace(one: Member, pace: number): void {
  const isNew = Math.abs(pace - one.pace) > one.pace * LEAST_CHANGE || (pace === Infinity) !== (one.pace === Infinity);
  if (one.socket !== null && !isNew) return;
  one.pace = pace;
  one.socket?.pace(pace);
}
