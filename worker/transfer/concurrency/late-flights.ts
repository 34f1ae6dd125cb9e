import type { Flying } from "./flight.ts";
import type { LatencyEstimator } from "./latency-estimator.ts";
import type { Semaphore } from "./semaphore.ts";
import type { SpareCapacity } from "./spare-capacity.ts";

/** A part is late after this factor times the median duration of its siblings, plus `LATE_MS`. */
const LATE_FACTOR = 2.5;
const LATE_MS = 500;
/** A small file is sent in one go, so a late one waits for a lost packet and is cheap to send again. */
const SMALL_LATE_FACTOR = 2;
const SMALL_LATE_MS = 100;
/** A part is slow below this share of the median rate, once it and its siblings had `SHOWN_MS` to reach theirs. */
const SLOW_SHARE = 0.35;
const SHOWN_MS = 1_500;
const LEAST_BESIDE = 4;
/** The link has room when its rate is below this share of its best rate. */
const ROOM_SHARE = 0.6;
/** Share of the best rate that a second attempt is expected to reach. */
const AGAIN_SHARE = 0.5;
/** A half-empty link counts only with so few parts in flight: more parts soon fill it by themselves. */
export const LAST_PARTS = 4;
/** Time that a second attempt needs until it reaches this rate. */
const AGAIN_MS = 800;
/** A part restarts only while less than this share of it has been sent. */
const GONE_SHARE = 0.3;

/** Restarts flights that are far slower than the others. Returns whether any flight may still be restarted, now or later. */
export function beginSlowAnew(flying: ReadonlySet<Flying>, room: SpareCapacity, now: number): boolean {
  const hasShown = ({ isHedged, startedAt }: Flying) => !isHedged && now - startedAt >= SHOWN_MS;
  const isEarly = ({ movedBytes, lengthBytes }: Flying) => movedBytes < lengthBytes * GONE_SHARE;
  const early: Flying[] = [];
  for (const one of flying) if (!one.wasBegunAnew && isEarly(one)) early.push(one);
  // Most calls return here, and there are thousands of flights.
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
 * Sends late flights a second time: every late small file, and of the late parts the one that started first. Must be called
 * only when no request waits any more. `bytesPerSecond`: recent rate of the link.
 */
export function hedgeLate(
  flying: ReadonlySet<Flying>,
  about: { now: number; bytesPerSecond: number; memory: LatencyEstimator; semaphore: Semaphore; room: SpareCapacity },
): void {
  const { now, bytesPerSecond, memory, semaphore, room } = about;
  const seemsFree = flying.size <= LAST_PARTS && bytesPerSecond < memory.bestRate * ROOM_SHARE;
  // Asked in advance: the answer takes round trips, and few are left.
  if (seemsFree) room.isFree();
  let latest: Flying | null = null;
  let spare = semaphore.width - semaphore.held;
  // Caches the last lookup, because nearly all flights have the same length.
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
