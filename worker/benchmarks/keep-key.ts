import type { BenchJob } from "#protocol/benchmarks/turn.ts";

/** The key that was lent for a turn, replaced in time where it expires. */

type Lent = Pick<BenchJob, "credential" | "credentialEndsAt">;

export interface LentKey {
  now(): Lent["credential"];
  /** Asks for another key when this one could expire within the next case. Faults: those of the hub. */
  renew(): Promise<void>;
}

/** Time between two cases: checking the result, and uploading the reference object for downloads. */
const BETWEEN_MS = 60_000;

/**
 * Keeps the lent key valid. `caseMs`: longest time of a case. `nowByHub`: the hub's clock, to which `credentialEndsAt` refers.
 */
export function keepKey(
  first: Lent,
  about: { caseMs: number; nowByHub: () => number; ask: () => Promise<Lent> },
): LentKey {
  let lent = first;
  return {
    now: () => lent.credential,
    renew: async () => {
      const { credentialEndsAt } = lent;
      if (credentialEndsAt === null || about.nowByHub() + about.caseMs + BETWEEN_MS < credentialEndsAt) return;
      lent = await about.ask();
    },
  };
}
