import type { Readable } from "node:stream";
import { LONGEST_LINE } from "./messages.ts";

/** Yields the complete lines of a stream. A line longer than the limit ends it with an error. */
export async function* linesOf(stream: Readable): AsyncGenerator<string> {
  let rest = "";
  stream.setEncoding("utf8");
  for await (const chunk of stream) {
    const pieces = (rest + String(chunk)).split("\n");
    rest = pieces.pop() ?? "";
    yield* pieces;
    if (rest.length > LONGEST_LINE) throw new Error("a line is longer than the limit");
  }
}
