/**
 * Connections that were asked for in the place of silent ones. Where the store or the machine is what is busy, the second one
 * waits as long as the first did, and whoever replaces all that are silent asks for everything again and again: so one is
 * tried, and others follow when it was right.
 */
export interface Replacements<S> {
  /** Another one may be asked for. `soonMs`: what comes within that was right. */
  mayAsk(about: { now: number; soonMs: number }): boolean;
  asked(span: S, now: number): void;
  /** It is silent itself. */
  failed(span: S): void;
}

/** `hasBrought`: of one that was asked for, whether anything came. */
export function createReplacements<S>(hasBrought: (span: S) => boolean): Replacements<S> {
  const unproven = new Map<S, number>();
  let most = 1;
  const look = (now: number, soonMs: number) => {
    for (const [span, askedAt] of unproven) {
      if (!hasBrought(span)) continue;
      most = now - askedAt <= soonMs ? most + 1 : 1;
      unproven.delete(span);
    }
  };
  return {
    mayAsk: ({ now, soonMs }) => {
      look(now, soonMs);
      return unproven.size < most;
    },
    asked: (span, now) => void unproven.set(span, now),
    failed: (span) => {
      if (unproven.delete(span)) most = 1;
    },
  };
}
