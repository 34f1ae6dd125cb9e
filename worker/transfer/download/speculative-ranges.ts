import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { checkRange } from "#storage/answers/check-range.ts";
import type { Engine } from "../engine.ts";
import { fetchRange, type WantedRange } from "./fetch-range.ts";
import type { Sink } from "../http/http-client.ts";

/**
 * Requests the first ranges of an object while the request for its length is in flight, which saves a round trip on a long
 * link. Their bytes wait in the socket until the receiver knows where they go. A range that fails (no such range, another
 * version, a lost connection) ends alone. Its bytes are then fetched like all others, with retries.
 */
export interface EarlyRanges {
  /** Requests the first `count` ranges; may be called once. */
  begin(count: number): void;
  /**
   * Returns the ranges that may still bring bytes, in order; may be called once. `check` throws for an answer of another
   * version, which ends its range.
   */
  take(key: string, check: Check): EarlyRange[];
  /** Ends all ranges that were not taken. */
  drop(): void;
}

type Check = (headers: HttpAnswer["headers"]) => void;

export interface EarlyRange {
  /** Offsets in the object. The answer ends before `to` if the object does. */
  readonly from: number;
  readonly to: number;
  /**
   * Passes the bytes that came and those to come to `bytes`, as to a sink. Faults: those of the network and of the answer.
   */
  follow(bytes: Sink["bytes"]): Promise<void>;
  drop(): void;
}

/** Long enough for a connection to pass its slow start, short enough that a wasted range costs little. */
const RANGE_BYTES = 4 * 1024 * 1024;

export function createEarlyRanges(engine: Engine, about: { key: string; signal: AbortSignal }): EarlyRanges {
  /** Null before `begin`; empty once the ranges were taken or dropped. */
  let ranges: Asked[] | null = null;
  /** Removes the listener that drops the ranges when they hold more places than the semaphore's width allows. */
  let forget: () => void = () => undefined;
  const handOut = (): Asked[] => {
    const all = ranges ?? [];
    ranges = [];
    forget();
    return all;
  };
  const drop = () => {
    for (const range of handOut()) range.drop();
  };
  return {
    begin: (count) => {
      if (ranges !== null) return;
      ranges = Array.from({ length: count }, (_, index) => askFor(engine, { ...about, from: index * RANGE_BYTES }));
      forget = engine.semaphore.onTooWide(drop);
    },
    take: (key, check) => {
      if (key !== about.key) drop();
      return handOut().filter((range) => range.holdTo(check));
    },
    drop,
  };
}

interface Asked extends EarlyRange {
  /** Applies `check` to the head of the answer, now or when it comes. Returns false when the range can bring nothing. */
  holdTo(check: Check): boolean;
}

function askFor(engine: Engine, about: { key: string; from: number; signal: AbortSignal }): Asked {
  const { key, from } = about;
  const to = from + RANGE_BYTES;
  const stop = new AbortController();
  const signal = AbortSignal.any([about.signal, stop.signal]);
  const followed = Promise.withResolvers<Sink["bytes"]>();
  let take: Sink["bytes"] | null = null;
  let found: HttpAnswer["headers"] | null = null;
  let check: Check | null = null;
  let isOver = false;
  const sink: WantedRange["sink"] = {
    head: (answer) => {
      checkEarly(answer, { key, from, to });
      check?.(answer.headers);
      found = answer.headers;
    },
    bytes: (chunk) => {
      if (take !== null) return take(chunk);
      // The chunk is valid only during this call, and nothing more is read before the promise resolves.
      const copy = Buffer.from(chunk);
      return followed.promise.then((bytes) => {
        const outcome = bytes(copy);
        return outcome === "enough" ? undefined : outcome;
      });
    },
  };
  // All ranges share one signature, because the Range header is not signed.
  const operation = { op: "get", key, offset: 0, length: RANGE_BYTES, etag: null } as const;
  const done = engine.semaphore
    .run({ signal, size: "large" }, () =>
      fetchRange(engine, { operation, offset: from, length: RANGE_BYTES, signal, sink }),
    )
    .finally(() => {
      isOver = true;
    });
  const drop = () => stop.abort(new Fault("CANCELLED"));
  // Prevents an unhandled rejection when nobody follows the range.
  done.catch(() => undefined);
  return {
    from,
    to,
    holdTo: (wanted) => {
      check = wanted;
      try {
        if (found !== null) wanted(found);
        return !isOver;
      } catch {
        drop();
        return false;
      }
    },
    follow: (bytes) => {
      take = bytes;
      followed.resolve(bytes);
      return done;
    },
    drop,
  };
}

/** Checks the head of an answer, which is shorter than the range where the object ends before it. Faults: of `checkRange`. */
function checkEarly(answer: HttpAnswer, asked: { key: string; from: number; to: number }): void {
  const { key: subject, from: offset, to } = asked;
  const total = Number(/\/(\d{1,16})$/.exec(answer.headers["content-range"]?.trim() ?? "")?.[1] ?? Number.NaN);
  checkRange(answer, { offset, length: (total > offset && total < to ? total : to) - offset, subject });
}
