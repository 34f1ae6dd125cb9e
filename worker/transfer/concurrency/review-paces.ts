import type { TcpInfo } from "../http/http-client.ts";
import { within, setPace, type Member, type PacerState, type RoundTripTime } from "./pacer-state.ts";
import { GRANT_BYTES } from "./grant-bytes.ts";
import { ABLE_SHARE, pacesFor, startLinkRate, steer } from "./rate-allocation.ts";

/** Fewer parts have almost nothing to gain. */
const LEAST_MEMBERS = 8;
/** On a shorter link the parts end before the pacer has learned anything. */
const LEAST_RTT_MS = 10;
/** Interval between reviews, in round trips and within these bounds. */
const REVIEW = { roundTrips: 2, leastMs: 100, mostMs: 250 };
/** Interval once the rate is known and all sockets pace themselves. */
const LEVEL_REVIEW = { roundTrips: 2, leastMs: 200, mostMs: 500 };
/** Time after the last join before pacing begins. */
const SETTLE = { roundTrips: 16, leastMs: 500, mostMs: 2_000 };
/** Window of the rate where sockets report nothing. */
const WINDOW = { roundTrips: 16, leastMs: 600, mostMs: 2_000 };
/** Window of the rate where sockets report acknowledged bytes: a little late, but exactly. */
const TOLD_WINDOW = { roundTrips: 5, leastMs: 250, mostMs: 1_200 };
/** Grants per part that a window must hold; from fewer the rate would be a guess. */
const WINDOW_GRANTS = 4;
/** A rate below this share of the usual one is not believed: the link stalled meanwhile. */
const BELIEVED_SHARE = 0.8;
const REMEMBERED_REVIEWS = 8;
const USUAL_REVIEWS = 5;
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Returns the interval between two reviews. */
export const reviewEvery = ({ link }: PacerState): RoundTripTime =>
  link !== null && link.isPaced && link.phase === "level" ? LEVEL_REVIEW : REVIEW;

/** Measures a round trip in the background. */
function probe(pacer: PacerState): void {
  if (pacer.isProbing) return;
  pacer.isProbing = true;
  void pacer.httpClient.measureRtt(1).then((ms) => {
    pacer.isProbing = false;
    pacer.probes = [pacer.probes[1], ms];
  });
}

function probed({ probes }: PacerState): number | null {
  const told = probes.filter((ms) => ms !== null);
  return told.length === 0 ? null : Math.min(...told);
}

/** Returns bytes per second of one part since its earliest review in the window. */
function rateOf({ seen, movedBytes }: Member, now: number): number {
  const [first] = seen;
  return first === undefined || first.at >= now ? 0 : ((movedBytes - first.bytes) * 1000) / (now - first.at);
}

function release(pacer: PacerState): void {
  pacer.link = null;
  for (const one of pacer.members) setPace(one, Infinity);
}

/**
 * Reads the TCP statistics of each socket and updates the progress of its part. Returns the shortest present and minimum RTT,
 * ms; null when no socket reports any.
 */
function ask(pacer: PacerState, passedMs: number): { presentRttMs: number; rttMs: number } | null {
  const trips: TcpInfo[] = [];
  let arrivedBytes = 0;
  for (const one of pacer.members) {
    const info = one.socket?.tcpInfo() ?? null;
    if (info === null) continue;
    const movedBytes = info.ackedBytes - one.ackedBefore;
    arrivedBytes += movedBytes - one.movedBytes;
    one.movedBytes = movedBytes;
    if (info.rttMs > 0) trips.push(info);
  }
  if (trips.length === 0) return null;
  pacer.lately = [...pacer.lately.slice(1 - REMEMBERED_REVIEWS), (arrivedBytes * 1000) / Math.max(1, passedMs)];
  return {
    presentRttMs: Math.min(...trips.map(({ rttMs }) => rttMs)),
    rttMs: Math.min(...trips.map(({ leastRttMs }) => leastRttMs)),
  };
}

/** Compares what moved since the last reviews with what the link carries, and sets the pace of each part. */
export function review(pacer: PacerState, now: number, passedMs: number): void {
  const { members, httpClient } = pacer;
  const rttMs = httpClient.rttMs() ?? 0;
  pacer.isClose = pacer.isLast() && members.size >= LEAST_MEMBERS && rttMs >= LEAST_RTT_MS;
  const told = ask(pacer, passedMs);
  const windowMs = within(told === null ? WINDOW : TOLD_WINDOW, rttMs);
  if (!pacer.isClose || now - pacer.joinedAt < within(SETTLE, rttMs)) {
    for (const one of members) one.seen = [];
    release(pacer);
    return;
  }
  let rate = 0;
  let windowBytes = 0;
  let spanMs = 0;
  for (const one of members) {
    one.seen = one.seen.filter(({ at }) => now - at <= windowMs);
    rate += rateOf(one, now);
    windowBytes += one.movedBytes - (one.seen[0]?.bytes ?? one.movedBytes);
    spanMs = Math.max(spanMs, now - (one.seen[0]?.at ?? now));
    one.seen.push({ at: now, bytes: one.movedBytes });
  }
  // A median, so that one sample of sockets that lost or caught up much does not move it.
  const usualRate = told === null ? 0 : median(pacer.lately.slice(-USUAL_REVIEWS));
  if (told === null) probe(pacer);
  const counted = [...members].filter(({ socket }) => socket === null).length;
  if (pacer.link === null) {
    const leastBytes = told === null ? members.size * WINDOW_GRANTS * GRANT_BYTES : 0;
    const isEnough = spanMs > windowMs - 2 * within(REVIEW, rttMs) && windowBytes >= leastBytes;
    const isBelieved = told === null || (rate > 0 && rate >= BELIEVED_SHARE * median(pacer.lately));
    const found = told === null ? rate : usualRate;
    if (isEnough && isBelieved) pacer.link = startLinkRate({ at: now, rate: found, counted, rttMs });
    return;
  }
  const { state, bytesPerSecond, isQueued } = steer(pacer.link, {
    at: now,
    rate,
    usualRate,
    ...(told ?? { presentRttMs: probed(pacer), rttMs }),
  });
  pacer.link = state;
  const tailPart = [...members].map((one) => {
    const oneRate = rateOf(one, now);
    const wasHeld = one.socket === null ? one.wasHeld : oneRate >= one.pace * ABLE_SHARE;
    return { leftBytes: Math.max(0, one.lengthBytes - one.movedBytes), rate: oneRate, wasHeld };
  });
  const paces = bytesPerSecond === Infinity ? [] : pacesFor(tailPart, { bytesPerSecond, isQueued });
  for (const [index, one] of [...members].entries()) {
    setPace(one, paces[index] ?? Infinity);
    one.wasHeld = false;
  }
}
