import type * as z from "zod";
import { withoutRedrawn } from "#protocol/base/terminal-output.ts";
import { MOST_FOUND, type findInLogInput, type FoundInLog, type FoundLine } from "#protocol/jobs/job-log.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { findLog, piecesFrom } from "./read-log.ts";

const LONGEST_LINE = 1_000;

/** Returns the lines of an attempt's output that have these words, in order. @throws Fault NOT_FOUND */
export async function findInLog(hub: Hub, input: z.infer<typeof findInLogInput>): Promise<FoundInLog> {
  const found = await findLog(hub, input);
  const words = input.words.toLowerCase();
  const lines: FoundLine[] = [];
  const answer = (hasMore: boolean) => ({ attempt: found.row?.attempt ?? found.job.attempts, lines, hasMore });
  const take = (fromByte: number, line: string): void => {
    const text = withoutRedrawn(line);
    if (text.toLowerCase().includes(words)) lines.push({ fromByte, text: text.slice(0, LONGEST_LINE) });
  };
  /** The line that has no end yet, and where it begins. */
  let open = { fromByte: 0, text: "" };
  let at = 0;
  for await (const piece of piecesFrom(hub, found, 0)) {
    if (piece.fromByte !== at) {
      take(open.fromByte, open.text);
      open = { fromByte: piece.fromByte, text: "" };
    }
    at = piece.fromByte + Buffer.byteLength(piece.text);
    const [first = "", ...rest] = piece.text.split("\n");
    open = { ...open, text: open.text + first };
    let fromByte = piece.fromByte + Buffer.byteLength(first);
    for (const line of rest) {
      take(open.fromByte, open.text);
      if (lines.length > MOST_FOUND) break;
      open = { fromByte: fromByte + 1, text: line };
      fromByte += 1 + Buffer.byteLength(line);
    }
    if (lines.length > MOST_FOUND) break;
  }
  if (lines.length <= MOST_FOUND) take(open.fromByte, open.text);
  const hasMore = lines.length > MOST_FOUND;
  lines.length = Math.min(lines.length, MOST_FOUND);
  return answer(hasMore);
}
