import { within, type Member, type PacerState } from "./pacer-state.ts";

/** In round trips. What is given at a tick goes out at once, so all of it together must be small beside the queue of a link. */
export const TICK = { roundTrips: 0.25, leastMs: 8, mostMs: 75 };
/** After which one is given bytes again. */
const TURN = { roundTrips: 0.5, leastMs: 25, mostMs: 75 };
/** Given at a time: small enough that what many take at once does not overflow the queue of a link. */
export const GRANT_BYTES = 32 * 1024;
/**
 * What a paced one gets at a tick, near by. Most of it goes out as the store acknowledges what went before, so that it neither
 * bursts nor keeps us busy; who gets so much waits longer for its next turn.
 */
const PIECE_BYTES = 96 * 1024;

/** What may be given grows with time, and is never more than two ticks' worth and a piece. */
const gather = (
  bytes: number,
  { rate, passedMs, tickMs }: { rate: number; passedMs: number; tickMs: number },
): number => Math.min(bytes + (rate * passedMs) / 1000, GRANT_BYTES + (rate * tickMs * 2) / 1000);

/** Where the store is further away, more at a time and not as often: a piece costs the same CPU whatever its size. */
const pieceBytes = (rttMs: number): number => Math.floor((PIECE_BYTES * within(TURN, rttMs)) / TURN.leastMs);

/** Returns how many bytes a part may take between two ticks: one whose bytes are counted gets them at the ticks only. */
export const freeFor = ({ isClose }: PacerState, one: Member): number =>
  !isClose || one.socket !== null ? Infinity : one.pace === Infinity ? GRANT_BYTES : 0;

/** Gives at most so many bytes to a part that waits. Returns how many it took. */
function serve(one: Member, most: number): number {
  if (one.waiting === null) return 0;
  const bytes = Math.min(one.waiting.bytes, most);
  const { goOn } = one.waiting;
  one.waiting = null;
  one.granted = bytes;
  goOn();
  return bytes;
}

/** Gives parts whose bytes are counted what has gathered since the last tick. */
export function giveBytes(pacer: PacerState, passedMs: number): void {
  const { members, clock, wire } = pacer;
  let together = 0;
  for (const one of members) {
    if (one.socket !== null) continue;
    if (one.pace === Infinity) {
      // Different for each, or all of them would be due in the same tick.
      one.tokens = clock.random() * GRANT_BYTES;
      serve(one, freeFor(pacer, one));
      continue;
    }
    one.wasHeld ||= one.waiting !== null;
    one.tokens = gather(one.tokens, { rate: one.pace, passedMs, tickMs: TICK.mostMs });
    together += one.pace;
  }
  pacer.budget = gather(pacer.budget, { rate: together, passedMs, tickMs: within(TICK, wire.rttMs() ?? 0) });
  // Who lags most goes first, and all together get no more at once than the link carries until the next tick.
  const due = [...members].filter((one) => one.pace < Infinity && one.waiting !== null && one.tokens > 0);
  const piece = pieceBytes(wire.rttMs() ?? 0);
  for (const one of due.toSorted((a, b) => b.tokens - a.tokens)) {
    if (pacer.budget <= 0) return;
    const bytes = serve(one, Math.max(piece, Math.floor(one.tokens)));
    one.tokens -= bytes;
    pacer.budget -= bytes;
  }
}
