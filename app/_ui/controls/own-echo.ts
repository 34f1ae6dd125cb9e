/**
 * Distinguishes a component's own changes from foreign ones when its value is stored elsewhere and returns late. Example: a
 * filter field whose value lives in the page's address. Without this, the field takes the echo of its first letters for a
 * foreign change and overwrites what has been typed since.
 */
export interface Echo {
  /** The value that was received last. */
  heard: string;
  /** Values sent but not received back yet, oldest first. */
  sent: readonly string[];
}

export const startEcho = (heard: string): Echo => ({ heard, sent: [] });

/** Returns the newest value, whether it has been received back or not. */
export const newestOf = ({ heard, sent }: Echo): string => sent.at(-1) ?? heard;

export const send = (echo: Echo, value: string): Echo => ({ ...echo, sent: [...echo.sent, value] });

/** Takes in the current value. Returns the same object when it is unchanged; `isForeign` when somebody else changed it. */
export function hear(echo: Echo, value: string): { echo: Echo; isForeign: boolean } {
  if (value === echo.heard) return { echo, isForeign: false };
  const at = echo.sent.indexOf(value);
  if (at === -1) return { echo: startEcho(value), isForeign: true };
  return { echo: { heard: value, sent: echo.sent.slice(at + 1) }, isForeign: false };
}
