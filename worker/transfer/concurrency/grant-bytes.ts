import { within, type Member, type PacerState } from "./pacer-state.ts";

/**
 * Interval between grants, in round trips. Granted bytes go out at once, so all grants of a tick together must be small
 * compared with the queue of a link.
 */
export const TICK = { roundTrips: 0.25, leastMs: 8, mostMs: 75 };
/** Interval between two grants to the same part, in round trips. */
const TURN = { roundTrips: 0.5, leastMs: 25, mostMs: 75 };
/** Bytes of one grant: small enough that simultaneous grants to many parts do not overflow the queue of a link. */
export const GRANT_BYTES = 32 * 1024;
/**
 * Bytes of one grant to a paced part on a short link. Most of them go out as the store acknowledges earlier ones, so the part
 * neither bursts nor costs much CPU. After such a large grant a part waits longer for the next one.
 */
const PIECE_BYTES = 96 * 1024;

/** Returns the tokens after `passedMs`: they grow with time, up to two ticks' worth plus one grant. */
const gather = (
  bytes: number,
  { rate, passedMs, tickMs }: { rate: number; passedMs: number; tickMs: number },
): number => Math.min(bytes + (rate * passedMs) / 1000, GRANT_BYTES + (rate * tickMs * 2) / 1000);

/**
 * Returns the bytes of one grant. A longer RTT means larger and rarer grants: a grant costs the same CPU whatever its size.
 */
const pieceBytes = (rttMs: number): number => Math.floor((PIECE_BYTES * within(TURN, rttMs)) / TURN.leastMs);

/**
 * Returns how many bytes a part may take between two ticks. A paced part without a pacing socket gets bytes at the ticks
 * only.
 */
export const freeFor = ({ isClose }: PacerState, one: Member): number =>
  !isClose || one.socket !== null ? Infinity : one.pace === Infinity ? GRANT_BYTES : 0;

/** Grants at most `most` bytes to a waiting part. Returns how many it took. */
function serve(one: Member, most: number): number {
  if (one.waiting === null) return 0;
  const bytes = Math.min(one.waiting.bytes, most);
  const { goOn } = one.waiting;
  one.waiting = null;
  one.granted = bytes;
  goOn();
  return bytes;
}

/** Grants the tokens of the last `passedMs` to the parts whose socket cannot pace itself. */
export function giveBytes(pacer: PacerState, passedMs: number): void {
  const { members, clock, httpClient } = pacer;
  let together = 0;
  for (const one of members) {
    if (one.socket !== null) continue;
    if (one.pace === Infinity) {
      // Random, so that not all parts are due in the same tick.
      one.tokens = clock.random() * GRANT_BYTES;
      serve(one, freeFor(pacer, one));
      continue;
    }
    one.wasHeld ||= one.waiting !== null;
    one.tokens = gather(one.tokens, { rate: one.pace, passedMs, tickMs: TICK.mostMs });
    together += one.pace;
  }
  pacer.budget = gather(pacer.budget, { rate: together, passedMs, tickMs: within(TICK, httpClient.rttMs() ?? 0) });
  // The part with the most tokens lags most and goes first. All together get no more than the link carries until the next
  // tick.
  const due = [...members].filter((one) => one.pace < Infinity && one.waiting !== null && one.tokens > 0);
  const piece = pieceBytes(httpClient.rttMs() ?? 0);
  for (const one of due.toSorted((a, b) => b.tokens - a.tokens)) {
    if (pacer.budget <= 0) return;
    const bytes = serve(one, Math.max(piece, Math.floor(one.tokens)));
    one.tokens -= bytes;
    pacer.budget -= bytes;
  }
}
