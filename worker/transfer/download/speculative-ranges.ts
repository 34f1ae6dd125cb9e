import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { checkRange } from "#storage/answers/check-range.ts";
import type { Engine } from "../engine.ts";
import { fetchRange, type WantedRange } from "./fetch-range.ts";
import type { Sink } from "../http/http-client.ts";

/**
 * The first ranges of an object are asked for while the store is still asked how long it is, which on a far link brings all
 * of it a round trip sooner. Their bytes are held at the socket until somebody says where they go. Whatever is wrong with
 * one of them (no such range, another version, a connection that ends) ends only it: what it was to bring is fetched as all
 * the rest, with its retries.
 */
export interface EarlyRanges {
  /** Asks for the first `count` of them; once. */
  begin(count: number): void;
  /**
   * Those that may still bring something, in their order; once. `check` throws when an answer is of another version than the
   * one that was meant: then its range ends.
   */
  take(key: string, check: Check): EarlyRange[];
  /** Ends what nobody has taken. */
  drop(): void;
}

type Check = (headers: HttpAnswer["headers"]) => void;

export interface EarlyRange {
  /** In the object; the answer may end before `to`, with the object. */
  readonly from: number;
  readonly to: number;
  /** Hands over what came and what comes, as a sink would get it. Faults: those of the network and of the answer. */
  follow(bytes: Sink["bytes"]): Promise<void>;
  drop(): void;
}

/** So much that a connection is past its slow start, and so little that few would be of no use. */
const RANGE_BYTES = 4 * 1024 * 1024;

export function createEarlyRanges(engine: Engine, about: { key: string; signal: AbortSignal }): EarlyRanges {
  /** Null until they are asked for; none once nobody wants them any more. */
  let ranges: Asked[] | null = null;
  /** Ends that they make room for what tells where they go, when they hold more connections than there may be now. */
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
      forget = engine.gate.onTooWide(drop);
    },
    take: (key, check) => {
      if (key !== about.key) drop();
      return handOut().filter((range) => range.holdTo(check));
    },
    drop,
  };
}

interface Asked extends EarlyRange {
  /** The answer is held to this, now or when it comes. False when it may bring nothing. */
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
      // It is only valid now, and nothing more is read before this is taken.
      const copy = Buffer.from(chunk);
      return followed.promise.then((bytes) => {
        const outcome = bytes(copy);
        return outcome === "enough" ? undefined : outcome;
      });
    },
  };
  // All of them under one signature, because the range is not signed.
  const operation = { op: "get", key, offset: 0, length: RANGE_BYTES, etag: null } as const;
  const done = engine.gate
    .run({ signal, size: "large" }, () =>
      fetchRange(engine, { operation, offset: from, length: RANGE_BYTES, signal, sink }),
    )
    .finally(() => {
      isOver = true;
    });
  const drop = () => stop.abort(new Fault("CANCELLED"));
  // Nobody may follow it.
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

/** Where the object ends before the range does, the answer does too. Faults: of `checkRange`. */
function checkEarly(answer: HttpAnswer, asked: { key: string; from: number; to: number }): void {
  const { key: subject, from: offset, to } = asked;
  const total = Number(/\/(\d{1,16})$/.exec(answer.headers["content-range"]?.trim() ?? "")?.[1] ?? Number.NaN);
  checkRange(answer, { offset, length: (total > offset && total < to ? total : to) - offset, subject });
}
