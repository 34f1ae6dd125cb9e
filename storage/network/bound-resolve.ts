import type { Resolve } from "./pinned-lookup.ts";

/**
 * Bounds DNS lookups of one process. The system resolves names in Node's four threads, which also read files and derive keys. A
 * resolver that does not answer would occupy all of them.
 */

export interface ResolveBounds {
  /** Longest time that a caller waits, from its call. */
  answerMs: number;
  /** Lookups that run at the same time; the others wait for their turn. */
  mostAtOnce: number;
}

const lateError = (host: string): Error =>
  Object.assign(new Error(`the name ${host} was not resolved in time`), { code: "EAI_AGAIN" });

interface Lookup {
  result: Promise<readonly string[]>;
  /** Callers that wait for the result. */
  callers: number;
}

/**
 * Returns a `Resolve` with these bounds. Callers that ask for the same name at the same time share one lookup. A caller that
 * waited too long gets an error with code EAI_AGAIN; a lookup whose turn comes when no caller waits any more is left out.
 */
export function boundResolve(resolve: Resolve, { answerMs, mostAtOnce }: ResolveBounds): Resolve {
  const inFlight = new Map<string, Lookup>();
  const waiting: (() => void)[] = [];
  let running = 0;

  async function run(host: string, lookup: Pick<Lookup, "callers">): Promise<readonly string[]> {
    if (running >= mostAtOnce) await new Promise<void>((begin) => waiting.push(begin));
    else running++;
    try {
      if (lookup.callers === 0) throw lateError(host);
      return await resolve(host);
    } finally {
      inFlight.delete(host);
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }

  function begin(host: string): Lookup {
    const waits = { callers: 1 };
    const lookup = Object.assign(waits, { result: run(host, waits) });
    inFlight.set(host, lookup);
    // The last caller may be gone when it fails.
    lookup.result.catch(() => undefined);
    return lookup;
  }

  return async (host) => {
    const known = inFlight.get(host);
    if (known !== undefined) known.callers++;
    const lookup = known ?? begin(host);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, fail) => {
      timer = setTimeout(() => fail(lateError(host)), answerMs);
    });
    try {
      return await Promise.race([lookup.result, late]);
    } finally {
      clearTimeout(timer);
      lookup.callers--;
    }
  };
}
