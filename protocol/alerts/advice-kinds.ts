/** Kinds of advice, most pressing first. */
export const ADVICE_KINDS = [
  "interval",
  "degrading",
  "throttled",
  "asymmetric",
  "far",
  "best-bucket",
  "part-size",
  "connections",
] as const;
export type AdviceKind = (typeof ADVICE_KINDS)[number];
