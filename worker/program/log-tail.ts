import { StringDecoder } from "node:string_decoder";

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

/** Returns the text as a terminal shows it: without colors and cursor moves, and only the last state of a redrawn line. */
const withoutRedrawn = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    // oxlint-disable-next-line no-control-regex -- these are what is looked for
    .replace(/\u001b(\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\)|[@-_])/g, "")
    .split("\n")
    .map((line) => line.split("\r").findLast((part) => part !== "") ?? "")
    .join("\n")
    // oxlint-disable-next-line no-control-regex -- and nothing else that a page should not be shown
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
