/**
 * Connections that were asked for in the place of silent ones. Where the store or the machine is what is busy, the second one
 * waits as long as the first did, and whoever replaces all that are silent asks for everything again and again: so one is
 * tried, and others follow when it was right.
 */
export interface Replacements<S> {
  /** Another one may be asked for. `soonMs`: what is answered within that was right; what is not in twice that was not. */
  mayAsk(about: { now: number; soonMs: number }): boolean;
  asked(span: S, now: number): void;
}

/** `answeredAt`: of one that was asked for; null while no answer began. */
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
