import { createHash } from "node:crypto";
import { parentPort } from "node:worker_threads";
import { stopAtFirstIssue } from "#protocol/base/bounded.ts";
import { lowerThread } from "#storage/checksums/lower-thread.ts";
import { LARGE_INPUTS, schemaOf } from "./large-inputs.ts";
import type { FromInputThread, ToInputThread } from "./input-messages.ts";
import { takeApart } from "#server/platform/take-apart.ts";

/**
 * The thread that parses and checks large inputs, one at a time. It sends the result piece by piece, as the hub asks for it.
 */

const port = parentPort;
if (port === null) throw new Error("this is a thread: use createInputReader");
lowerThread();
for (const { schema } of LARGE_INPUTS.values()) stopAtFirstIssue(schema);

const say = (message: FromInputThread): void => port.postMessage(message);
let pieces: Iterator<{ path: string[]; piece: unknown[] }> = [][Symbol.iterator]();

function storedOf(value: unknown): { text: string; sha256: string } | null {
  const manifest: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "manifest") : undefined;
  if (manifest === undefined) return null;
  const text = JSON.stringify(manifest);
  return { text, sha256: createHash("sha256").update(text).digest("hex") };
}

function read({ id, path, bytes }: Extract<ToInputThread, { op: "read" }>): void {
  let asked: unknown;
  try {
    asked = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    say({ id, op: "bad", issue: null });
    return;
  }
  const parsed = schemaOf(path)?.safeParse(asked);
  if (parsed?.success !== true) {
    const [issue] = parsed?.error.issues ?? [];
    say({ id, op: "bad", issue: { path: (issue?.path ?? []).map(String), message: issue?.message ?? "" } });
    return;
  }
  const { rest, lists } = takeApart(parsed.data);
  pieces = lists.values().flatMap((list) => list.pieces.map((piece) => ({ path: list.path, piece })));
  say({ id, op: "rest", rest, stored: storedOf(parsed.data) });
}

port.on("message", (message: ToInputThread) => {
  if (message.op === "read") {
    read(message);
    return;
  }
  const { value, done } = pieces.next();
  say(done === true ? { id: message.id, op: "end" } : { id: message.id, op: "piece", ...value });
});
