/**
 * Limits the connections requested in place of silent ones. When the store or this machine is overloaded, the replacement
 * waits as long as the original did. Replacing every silent connection would then request everything again and again. So one
 * is tried first, and more may follow when it proved right.
 */
export interface Replacements<S> {
  /**
   * Returns whether another replacement may be requested. `soonMs`: one answered within this time was right; one unanswered
   * after twice this time was not.
   */
  mayAsk(about: { now: number; soonMs: number }): boolean;
  asked(span: S, now: number): void;
}

/** Creates an empty record. `answeredAt`: returns when the answer to a request began, ms; null before. */
export function createReplacements<S>(answeredAt: (span: S) => number | null): Replacements<S> {
  const unproven = new Map<S, number>();
  let most = 1;
  const look = (now: number, soonMs: number) => {
    for (const [span, askedAt] of unproven) {
      const at = answeredAt(span);
      if (at === null && now - askedAt <= 2 * soonMs) continue;
      most = at !== null && at - askedAt <= soonMs ? most + 1 : 1;
      unproven.delete(span);
    }
  };
  return {
    mayAsk: ({ now, soonMs }) => {
      look(now, soonMs);
      return unproven.size < most;
    },
    asked: (span, now) => void unproven.set(span, now),
  };
}
