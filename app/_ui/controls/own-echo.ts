/**
 * Tells one's own changes from those of others, where a value is changed in one place and comes back later from another: a filter
 * field and the address of the page. Without it a field takes the answer to its first letters for a change of somebody else, and
 * writes it over what has been typed since.
 */
export interface Echo {
  /** The value that came last. */
  heard: string;
  /** Sent and not come back yet, oldest first. */
  sent: readonly string[];
}

export const startEcho = (heard: string): Echo => ({ heard, sent: [] });

/** The newest value, whether it has come back or not. */
export const newestOf = ({ heard, sent }: Echo): string => sent.at(-1) ?? heard;

export const send = (echo: Echo, value: string): Echo => ({ ...echo, sent: [...echo.sent, value] });

/** Takes in the value that stands there now. The same object where nothing is new; `isForeign`: somebody else changed it. */
export function hear(echo: Echo, value: string): { echo: Echo; isForeign: boolean } {
  if (value === echo.heard) return { echo, isForeign: false };
  const at = echo.sent.indexOf(value);
  if (at === -1) return { echo: startEcho(value), isForeign: true };
  return { echo: { heard: value, sent: echo.sent.slice(at + 1) }, isForeign: false };
}
