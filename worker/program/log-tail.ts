import { StringDecoder } from "node:string_decoder";
import { withoutRedrawn } from "#protocol/base/terminal-output.ts";

/** Last output of a program, stdout and stderr together, limited to what a report may hold. */
export interface LogTail {
  add(chunk: Buffer): void;
  /** Returns the tail, beginning with a whole line if possible, without control characters. */
  text(): string;
}

/** Longest tail, characters. */
export const MOST_TAIL = 4_000;

export function createLogTail(): LogTail {
  const decoder = new StringDecoder("utf8");
  let kept = "";
  return {
    add: (chunk) => {
      kept = (kept + decoder.write(chunk)).slice(-2 * MOST_TAIL);
    },
    text: () => {
      const shown = withoutRedrawn(kept);
      const tail = shown.slice(-MOST_TAIL);
      const firstLine = tail.indexOf("\n");
      return tail.length < shown.length && firstLine >= 0 ? tail.slice(firstLine + 1) : tail;
    },
  };
}
