import { Worker } from "node:worker_threads";
import { TRPCError } from "@trpc/server";
import { Fault } from "#protocol/faults/fault.ts";
import { createFairQueue, type QueueLimits } from "#server/platform/fair-queue.ts";
import { noteParsed } from "./parsed-elsewhere.ts";
import { trpcError } from "./trpc-error.ts";
import type { FromInputThread, ToInputThread } from "./input-messages.ts";
import { putBack } from "#server/platform/take-apart.ts";

/** Parses and checks large inputs in a thread, one at a time; different callers take turns. */
export interface InputReader {
  /**
   * Returns the parsed input of a procedure, which its schema then accepts without a second check. @throws TRPCError with
   * Fault BAD_INPUT, TOO_LARGE, TOO_MANY_TRIES
   */
  read(about: { caller: string; path: string; bytes: Uint8Array }): Promise<unknown>;
  close(): Promise<void>;
}

const MEMORY_MIB = 512;
const IDLE_MS = 60_000;

const WAITING = { waiting: 32, waitingEach: 4 };

export function createInputReader(waiting: Pick<QueueLimits, "waiting" | "waitingEach"> = WAITING): InputReader {
  const queue = createFairQueue({ atOnce: 1, atOnceEach: 1, ...waiting });
  let thread: Worker | null = null;
  let idle: NodeJS.Timeout | null = null;
  let lastId = 0;

  const launch = (): Worker => {
    const made = new Worker(new URL("./input-thread.ts", import.meta.url), {
      name: "inputs",
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
    });
    made.once("exit", () => {
      if (thread === made) thread = null;
    });
    made.on("error", () => undefined);
    return made;
  };

  const work = async (path: string, bytes: Uint8Array): Promise<unknown> => {
    if (idle !== null) clearTimeout(idle);
    const asked = (thread ??= launch());
    asked.ref();
    try {
      return await readIn(asked, { id: ++lastId, path, bytes });
    } finally {
      asked.unref();
      idle = setTimeout(() => void asked.terminate(), IDLE_MS);
      idle.unref();
    }
  };
  return {
    read: ({ caller, path, bytes }) => queue.run(caller, () => work(path, bytes)),
    close: async () => {
      if (idle !== null) clearTimeout(idle);
      await thread?.terminate();
    },
  };
}

function readIn(thread: Worker, about: { id: number; path: string; bytes: Uint8Array }): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const say = (message: ToInputThread): void => thread.postMessage(message);
  let rest: unknown = null;
  let stored: { text: string; sha256: string } | null = null;
  const heard = (message: FromInputThread): void => {
    if (message.id !== about.id) return;
    if (message.op === "bad") reject(badInput(message.issue));
    else if (message.op === "end") {
      if (typeof rest === "object" && rest !== null) note(rest, stored);
      resolve(rest);
    } else {
      if (message.op === "rest") ({ rest, stored } = message);
      else putBack(rest, message.path, message.piece);
      // Yields between two pieces, so that other calls are answered.
      setImmediate(() => say({ op: "next", id: about.id }));
    }
  };
  const ended = (): void =>
    reject(trpcError(new Fault("TOO_LARGE", { detail: "there is more in it than can be read" })));
  thread.on("message", heard);
  thread.once("exit", ended);
  const { bytes } = about;
  // A small body may share its ArrayBuffer with others, and must not be transferred then.
  const isAlone = bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
  thread.postMessage({ op: "read", ...about } satisfies ToInputThread, isAlone ? [bytes.buffer] : []);
  return promise.finally(() => {
    thread.removeListener("message", heard);
    thread.removeListener("exit", ended);
  });
}

function note(value: object, stored: { text: string; sha256: string } | null): void {
  const manifest: unknown = Reflect.get(value, "manifest");
  const isManifest = typeof manifest === "object" && manifest !== null;
  noteParsed(value, stored !== null && isManifest ? { value: manifest, stored } : null);
}

function badInput(issue: { path: string[]; message: string } | null): TRPCError {
  if (issue === null) return new TRPCError({ code: "BAD_REQUEST" });
  const subject = issue.path.join(".").slice(0, 256);
  const detail = issue.message.slice(0, 1024);
  return trpcError(new Fault("BAD_INPUT", { ...(subject !== "" && { subject }), ...(detail !== "" && { detail }) }));
}
