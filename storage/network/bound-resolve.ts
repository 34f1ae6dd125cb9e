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

/**
 * Returns a `Resolve` with these bounds. Callers that ask for the same name at the same time share one lookup. A caller that
 * waited too long gets an error with code EAI_AGAIN.
 */
export function boundResolve(resolve: Resolve, { answerMs, mostAtOnce }: ResolveBounds): Resolve {
  const inFlight = new Map<string, Promise<readonly string[]>>();
  const waiting: (() => void)[] = [];
  let running = 0;

  const run = async (host: string): Promise<readonly string[]> => {
    if (running >= mostAtOnce) await new Promise<void>((begin) => waiting.push(begin));
    else running++;
    try {
      return await resolve(host);
    } finally {
      inFlight.delete(host);
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };

  return (host) => {
    const lookup = inFlight.get(host) ?? run(host);
    inFlight.set(host, lookup);
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(lateError(host)), answerMs);
      lookup.then(done, fail).finally(() => clearTimeout(timer));
    });
  };
}
