import type { Flying } from "./flight.ts";
import type { FlightMemory } from "./latency-estimator.ts";
import type { Gate } from "./semaphore.ts";
import type { LinkRoom } from "./spare-capacity.ts";

/** Late is: longer than this times the middle one of its siblings, and a little more. */
const LATE_FACTOR = 2.5;
const LATE_MS = 500;
/** A small file is all of it gone in a moment: what is late then waits for a lost packet, and costs little to send again. */
const SMALL_LATE_FACTOR = 2;
const SMALL_LATE_MS = 100;
/** Slow is: a third of the middle rate of those beside it, when both had time to show what they can. */
const SLOW_SHARE = 0.35;
const SHOWN_MS = 1_500;
const LEAST_BESIDE = 4;
/** The link has room when it carries less than this share of what it has carried. */
const ROOM_SHARE = 0.6;
/** What a part begun now gets of the link, and how long it takes to get there. */
const AGAIN_SHARE = 0.5;
/** Only the last few parts: while more are on their way, they fill the link by themselves soon. */
export const LAST_PARTS = 4;
const AGAIN_MS = 800;
/** Begun anew only while less than this is gone. */
const GONE_SHARE = 0.3;

/** Begins those anew that are far slower than those beside them. Returns whether any may be begun anew, now or later. */
export function beginSlowAnew(flying: ReadonlySet<Flying>, room: LinkRoom, now: number): boolean {
  const hasShown = ({ isHedged, startedAt }: Flying) => !isHedged && now - startedAt >= SHOWN_MS;
  const isEarly = ({ movedBytes, lengthBytes }: Flying) => movedBytes < lengthBytes * GONE_SHARE;
  const early: Flying[] = [];
  for (const one of flying) if (!one.wasBegunAnew && isEarly(one)) early.push(one);
  // Most looks end here, and there are thousands of them.
  if (early.length === 0) return false;
  const shown = [...flying].filter(hasShown);
  if (shown.length <= LEAST_BESIDE) return true;
  const rateOf = ({ movedBytes, startedAt }: Flying) => movedBytes / (now - startedAt);
  const rates = shown.map(rateOf).sort((a, b) => a - b);
  const slow = (rates[Math.floor(rates.length / 2)] ?? 0) * SLOW_SHARE;
  const behind = early.filter((flight) => hasShown(flight) && rateOf(flight) < slow);
  if (behind.length > 0 && room.isFree()) for (const flight of behind) flight.beginAnew();
  return true;
}

/**
 * Sends those a second time that have been on their way far longer than their siblings took: every small file that is
 * late, and of the parts the one that began first. `bytesPerSecond`: rate of the link, lately. Called when nothing is
 * waiting any more.
 */
export function hedgeLate(
  flying: ReadonlySet<Flying>,
  about: { now: number; bytesPerSecond: number; memory: FlightMemory; gate: Gate; room: LinkRoom },
): void {
  const { now, bytesPerSecond, memory, gate, room } = about;
  const seemsFree = flying.size <= LAST_PARTS && bytesPerSecond < memory.bestRate * ROOM_SHARE;
  // Asked ahead: the answer takes round trips, and these are the last ones.
  if (seemsFree) room.isFree();
  let latest: Flying | null = null;
  let spare = gate.width - gate.held;
  // Nearly all are of one length.
  let known: { lengthBytes: number; usual: number | null } = { lengthBytes: -1, usual: null };
  for (const flight of flying) {
    if (flight.isHedged) continue;
    const { lengthBytes } = flight;
    const ageMs = now - flight.startedAt;
    if (known.lengthBytes !== lengthBytes) known = { lengthBytes, usual: memory.usualMs(lengthBytes) };
    const { usual } = known;
    if (flight.isSmall) {
      if (usual === null || ageMs <= usual * SMALL_LATE_FACTOR + SMALL_LATE_MS || spare === 0) continue;
      if (!flight.mayRepeat()) continue;
      spare--;
      flight.hedge();
      continue;
    }
    const isLate = usual !== null && ageMs > usual * LATE_FACTOR + LATE_MS;
    const leftMs = ((lengthBytes - flight.movedBytes) * ageMs) / Math.max(1, flight.movedBytes);
    const againMs = AGAIN_MS + (lengthBytes / (memory.bestRate * AGAIN_SHARE)) * 1000;
    if (!isLate && !(seemsFree && leftMs > againMs)) continue;
    if ((latest === null || flight.startedAt < latest.startedAt) && flight.mayRepeat()) latest = flight;
  }
  if (latest !== null && room.isFree()) latest.hedge();
}
