/** Most severe first; lists and outgoing messages follow this order. */
export const SEVERITIES = ["critical", "warning", "info"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Returns the rank of a severity; 0 is the most severe. */
export const rankOf = (severity: Severity): number => SEVERITIES.indexOf(severity);
