import { createLane } from "#protocol/base/lane.ts";
import type { Resolve } from "./pinned-lookup.ts";

/**
 * Bounds DNS lookups of one process. The system resolves names in Node's four threads, which also read files and derive keys. A
 * resolver that does not answer would occupy all of them.
 */

export interface ResolveBounds {
  /** Longest time that a caller waits, from its call. */
  answerMs: number;
  /** Lookups that run at the same time; the others wait for their turn. Names whose last lookup was late have one place more. */
  mostAtOnce: number;
}

/** A name counts as late for so long, because the resolver may be back. */
const LATE_MS = 60_000;
const MOST_LATE = 1_000;

const lateError = (host: string): Error =>
  Object.assign(new Error(`the name ${host} was not resolved in time`), { code: "EAI_AGAIN" });

interface Lookup {
  result: Promise<readonly string[]>;
  /** Callers that wait for the result. */
  callers: number;
}

/**
 * Returns a `Resolve` with these bounds. Callers that ask for the same name at the same time share one lookup. A caller that
 * waited too long gets an error with code EAI_AGAIN; a lookup whose turn comes when no caller waits any more is left out. Names
 * that were late wait only for each other, so that they do not delay the rest.
 */
export function boundResolve(resolve: Resolve, { answerMs, mostAtOnce }: ResolveBounds): Resolve {
  const inFlight = new Map<string, Lookup>();
  /** Names whose last lookup was late, with the time of its end; the latest last. */
  const late = new Map<string, number>();
  const usual = createLane(mostAtOnce);
  const slow = createLane(1);

  function noteLate(host: string, isLate: boolean): void {
    late.delete(host);
    if (!isLate) return;
    late.set(host, performance.now());
    const [oldest] = late.keys();
    if (late.size > MOST_LATE && oldest !== undefined) late.delete(oldest);
  }

  async function run(host: string, lookup: Pick<Lookup, "callers">): Promise<readonly string[]> {
    if (lookup.callers === 0) throw lateError(host);
    const startedAt = performance.now();
    try {
      return await resolve(host);
    } finally {
      noteLate(host, performance.now() - startedAt > answerMs);
    }
  }

  function begin(host: string): Lookup {
    const waits = { callers: 1 };
    const lane = performance.now() - (late.get(host) ?? -Infinity) < LATE_MS ? slow : usual;
    const result = lane(() => run(host, waits)).finally(() => inFlight.delete(host));
    // The last caller may be gone when it fails.
    result.catch(() => undefined);
    const lookup = Object.assign(waits, { result });
    inFlight.set(host, lookup);
    return lookup;
  }

  return async (host) => {
    const known = inFlight.get(host);
    if (known !== undefined) known.callers++;
    const lookup = known ?? begin(host);
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, fail) => {
      timer = setTimeout(() => fail(lateError(host)), answerMs);
    });
    try {
      return await Promise.race([lookup.result, tooLate]);
    } finally {
      clearTimeout(timer);
      lookup.callers--;
    }
  };
}
