import { parentPort } from "node:worker_threads";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { inspectFile } from "./inspect-file.ts";
import { lowerThread } from "../checksums/lower-thread.ts";
import type { FromThread, ToThread } from "./inspector-messages.ts";
import type { ByteSource, OpenBeside } from "./source.ts";

/**
 * Thread that inspects files one at a time. Its memory is limited, and it is terminated when it computes too long. A
 * hostile file can therefore not stop the process that started it.
 */

const port = parentPort;
if (port === null) throw new Error("this is a thread: use createInspector");
lowerThread();

class SourceFailed extends Error {}

type Answer = Extract<ToThread, { ask: number }>;

const waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>();
let lastAsk = 0;

const say = (message: FromThread): void => port.postMessage(message);

function ask(question: (ask: number) => FromThread): Promise<Answer> {
  const id = ++lastAsk;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  waiting.set(id, { resolve, reject });
  say(question(id));
  return promise;
}

const sourceOf = (job: number, file: number, sizeBytes: number): ByteSource => ({
  sizeBytes,
  read: async (offset, length) => {
    const answer = await ask((id) => ({ op: "read", job, ask: id, file, offset, length }));
    return answer.op === "bytes" ? answer.bytes : new Uint8Array(0);
  },
});

const besideOf =
  (job: number): OpenBeside =>
  async (relative) => {
    const answer = await ask((id) => ({ op: "open", job, ask: id, relative }));
    return answer.op === "opened" && answer.file !== null ? sourceOf(job, answer.file, answer.sizeBytes) : null;
  };

async function inspect({ job, path, sizeBytes }: Extract<ToThread, { op: "inspect" }>): Promise<void> {
  say({ job, op: "begun" });
  try {
    say({ job, op: "found", found: await inspectFile(path, sourceOf(job, 0, sizeBytes), besideOf(job)) });
  } catch (error) {
    if (error instanceof SourceFailed) say({ job, op: "sourceFailed" });
    else if (isFault(error)) say({ job, op: "fault", fault: error.toData() });
    else say({ job, op: "fault", fault: new Fault("MALFORMED", { op: "inspect", detail: reasonOf(error) }).toData() });
  }
}

/** Returns the reason of an error that is no Fault. The file's content causes it, as when a stack or an array grows too large. */
const reasonOf = (error: unknown): string =>
  error instanceof RangeError ? "it is nested deeper, or holds more, than can be read" : "it cannot be read";

port.on("message", (message: ToThread) => {
  if (message.op === "inspect") {
    void inspect(message);
    return;
  }
  const asked = waiting.get(message.ask);
  waiting.delete(message.ask);
  if (message.op === "failed") asked?.reject(new SourceFailed());
  else asked?.resolve(message);
});
