import type { BenchJob } from "#protocol/benchmarks/turn.ts";

/** The key that was lent for a turn; where it ends by itself, a new one in time. */

type Lent = Pick<BenchJob, "credential" | "credentialEndsAt">;

export interface LentKey {
  now(): Lent["credential"];
  /** Asks for another one when this one could end within the next case. Faults: those of the hub. */
  renew(): Promise<void>;
}

/** Looking at what arrived, and sending the reference for downloads. */
const BETWEEN_MS = 60_000;

/** `caseMs` is what a case takes at most; `nowByHub` the hub's clock, which `credentialEndsAt` is told by. */
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
