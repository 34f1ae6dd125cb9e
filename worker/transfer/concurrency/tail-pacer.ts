import type { PacedSocket } from "../http/http-client.ts";
import { freeFor, giveBytes, TICK } from "./grant-bytes.ts";
import { newPacerState, setPace, within, type Member, type PacerParts } from "./pacer-state.ts";
import { review, reviewEvery } from "./review-paces.ts";

/** Paces the last parts of an upload so that they arrive together: see `rate-allocation.ts`. */
export interface TailPacer {
  /** Adds a part that begins to be sent. */
  join(lengthBytes: number): Place;
  /** Whether the parts are paced at the link's capacity: then the link is full although no queue stands. */
  readonly isDriving: boolean;
}

export interface Place {
  /**
   * Returns how many of `bytes` may be sent now. 0: none yet; then `goOn` is called once, when the part may ask again and
   * will get some. Never called after `leave()`.
   */
  take(bytes: number, goOn: () => void): number;
  /** Sets the socket that sends the part. Returns whether the socket paces itself; then `take` always allows all bytes. */
  begins(socket: PacedSocket): boolean;
  /** Counts bytes that the kernel has taken; negative when they are sent again. */
  moved(bytes: number): void;
  leave(): void;
}

/**
 * Creates a pacer. `review-paces.ts` sets the paces of its parts, `grant-bytes.ts` grants bytes to those whose socket cannot
 * pace itself.
 */
export function createTailPacer(parts: PacerParts): TailPacer {
  const pacer = newPacerState(parts);
  const { clock, httpClient, members } = pacer;
  const tick = () => {
    const now = clock.now();
    pacer.timer = null;
    if (members.size === 0) return;
    const sinceReviewMs = now - pacer.reviewedAt;
    const isToReview = sinceReviewMs >= within(reviewEvery(pacer), httpClient.rttMs() ?? 0);
    if (isToReview) {
      pacer.reviewedAt = now;
      review(pacer, now, sinceReviewMs);
    }
    const passedMs = now - pacer.tickedAt;
    pacer.tickedAt = now;
    sleep();
    // Deferred: behind the bytes granted now, a probe's handshake would measure a queue that is gone before the next tick.
    if (isToReview) setImmediate(() => giveBytes(pacer, passedMs));
    else giveBytes(pacer, passedMs);
  };
  const isCounting = () => pacer.isClose && [...members].some(({ socket }) => socket === null);
  const sleep = () => {
    pacer.timer = setTimeout(tick, within(isCounting() ? TICK : reviewEvery(pacer), httpClient.rttMs() ?? 0)).unref();
  };
  return {
    get isDriving() {
      const { link } = pacer;
      return members.size > 0 && link !== null && link.phase !== "given up";
    },
    join: (lengthBytes) => {
      const me: Member = {
        lengthBytes,
        socket: null,
        ackedBefore: 0,
        movedBytes: 0,
        seen: [],
        pace: Infinity,
        tokens: 0,
        wasHeld: false,
        granted: 0,
        waiting: null,
      };
      members.add(me);
      pacer.joinedAt = clock.now();
      if (pacer.timer === null) {
        pacer.tickedAt = pacer.joinedAt;
        pacer.reviewedAt = pacer.joinedAt;
        sleep();
      }
      return {
        take: (bytes, goOn) => {
          const free = Math.min(bytes, Math.max(me.granted, freeFor(pacer, me)));
          me.granted = 0;
          if (free === 0) me.waiting = { bytes, goOn };
          return free;
        },
        begins: (socket) => {
          const told = socket.tcpInfo();
          me.socket = told !== null && socket.pace(Infinity) ? socket : null;
          me.ackedBefore = told?.ackedBytes ?? 0;
          me.movedBytes = 0;
          me.seen = [];
          me.pace = Infinity;
          return me.socket !== null;
        },
        moved: (bytes) => {
          if (me.socket === null) me.movedBytes += bytes;
        },
        leave: () => {
          if (me.socket !== null) setPace(me, Infinity);
          members.delete(me);
          me.waiting = null;
        },
      };
    },
  };
}
