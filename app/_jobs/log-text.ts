import { withoutRedrawn } from "#protocol/base/terminal-output.ts";
import type { LogAnswer, LogPiece } from "#protocol/jobs/job-log.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Output of an attempt as far as a page has loaded it. */
export interface ShownLog extends Omit<LogAnswer, "pieces"> {
  pieces: readonly LogPiece[];
}

/** Most bytes of text on the page; the oldest go first. */
const MOST_SHOWN = 1024 * 1024;

const bytesOf = ({ text }: LogPiece): number => new TextEncoder().encode(text).length;

/** Returns the log with what an answer adds at its end. */
export function withLater(before: ShownLog | undefined, answer: LogAnswer): ShownLog {
  const pieces = [...(before?.pieces ?? []), ...answer.pieces];
  let bytes = pieces.reduce((sum, piece) => sum + bytesOf(piece), 0);
  while (pieces.length > 1 && bytes > MOST_SHOWN) bytes -= bytesOf(pieces.shift() ?? { fromByte: 0, text: "" });
  return { ...answer, nextByte: Math.max(answer.nextByte, before?.nextByte ?? 0), pieces };
}

/** Returns the log with what an answer holds of the bytes before its first one. */
export function withEarlier(log: ShownLog, answer: LogAnswer): ShownLog {
  const shownFrom = log.pieces[0]?.fromByte ?? log.nextByte;
  const earlier = answer.pieces.flatMap((piece) => {
    if (piece.fromByte >= shownFrom) return [];
    const bytes = new TextEncoder().encode(piece.text).subarray(0, shownFrom - piece.fromByte);
    return [{ fromByte: piece.fromByte, text: new TextDecoder().decode(bytes) }];
  });
  return { ...log, pieces: [...earlier, ...log.pieces] };
}

/** Returns the first byte that the page shows, or would show. */
export const shownFrom = ({ pieces, nextByte }: ShownLog): number => pieces[0]?.fromByte ?? nextByte;

/** Returns the text for the page: as a terminal shows it, with a line where bytes are missing. */
export function logText({ pieces, isRunning, totalBytes }: ShownLog): string {
  let text = "";
  let at = pieces[0]?.fromByte ?? 0;
  for (const piece of pieces) {
    if (piece.fromByte > at) text += gapLine(text, piece.fromByte - at);
    text += piece.text;
    at = piece.fromByte + bytesOf(piece);
  }
  if (!isRunning && pieces.length > 0 && totalBytes > at) text += gapLine(text, totalBytes - at);
  return withoutRedrawn(text);
}

const gapLine = (before: string, bytes: number): string =>
  `${before === "" || before.endsWith("\n") ? "" : "\n"}[${formatBytes(bytes)} left out]\n`;

/** Returns how much of the output is kept: `all 12 kB kept`, `8 MB of 120 MB kept`; null when there is none. */
export function keptWords({ totalBytes, keptBytes }: Pick<LogAnswer, "totalBytes" | "keptBytes">): string | null {
  if (keptBytes === 0) return null;
  return keptBytes >= totalBytes
    ? `all ${formatBytes(totalBytes)} kept`
    : `${formatBytes(keptBytes)} of ${formatBytes(totalBytes)} kept`;
}
