import { Worker } from "node:worker_threads";
import { Fault, type FaultData, faultFrom } from "#protocol/faults/fault.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import { emptyFound } from "./found.ts";
import type { FromThread, ToThread } from "./inspector-messages.ts";
import { type ByteSource, NOTHING_BESIDE, type OpenBeside, tooMuch } from "./source.ts";
import { sumUp } from "./summarise.ts";

/**
 * Inspects files in a separate thread, so that no file can block or crash the process. A file that needs too much time or
 * memory gives a result that says so, as a damaged file does. Its thread is then terminated, and the next file gets a new
 * one.
 */
export interface Inspector {
  /** Runs `inspectFile` in the thread. Rejects with Faults of `source` and `beside`, and TRUNCATED. */
  inspect(path: string, source: ByteSource, beside?: OpenBeside): Promise<FileInspection>;
  close(): Promise<void>;
}

export interface InspectorLimits {
  /** Longest compute time for one file, ms; waiting for bytes does not count. */
  computeMs: number;
  memoryMiB: number;
  /** An idle thread is terminated after this time, ms. */
  idleMs: number;
}

export const INSPECTOR_LIMITS: InspectorLimits = { computeMs: 10_000, memoryMiB: 256, idleMs: 60_000 };

const YOUNG_MIB = 32;
const STACK_MIB = 4;

/** The thread's program: a URL or path, or its source text where all programs are bundled into one file. */
export type ThreadProgram = URL | string | { text: string };

const inspectorThread = (): ThreadProgram => new URL("./inspector-thread.ts", import.meta.url);

interface Job {
  id: number;
  thread: Worker;
  path: string;
  source: ByteSource;
  beside: OpenBeside;
}

export function createInspector(limits = INSPECTOR_LIMITS, program: ThreadProgram = inspectorThread()): Inspector {
  const idle: { thread: Worker; timer: NodeJS.Timeout }[] = [];
  const threads = new Set<Worker>();
  let lastJob = 0;

  const launch = (): Worker => {
    const isText = typeof program === "object" && "text" in program;
    const made = new Worker(isText ? program.text : program, {
      eval: isText,
      name: "inspect",
      resourceLimits: {
        maxOldGenerationSizeMb: limits.memoryMiB,
        maxYoungGenerationSizeMb: YOUNG_MIB,
        stackSizeMb: STACK_MIB,
      },
    });
    threads.add(made);
    made.on("exit", () => threads.delete(made));
    return made;
  };
  const take = (): Worker => {
    const kept = idle.pop();
    if (kept === undefined) return launch();
    clearTimeout(kept.timer);
    kept.thread.removeAllListeners("error");
    kept.thread.ref();
    return kept.thread;
  };
  const forget = (ended: Worker): void => {
    const at = idle.findIndex((one) => one.thread === ended);
    if (at >= 0) idle.splice(at, 1);
  };
  const keep = (kept: Worker): void => {
    kept.removeAllListeners("message").removeAllListeners("error").removeAllListeners("exit");
    kept.once("exit", () => {
      threads.delete(kept);
      forget(kept);
    });
    kept.on("error", () => undefined);
    kept.unref();
    const timer = setTimeout(() => void kept.terminate(), limits.idleMs);
    timer.unref();
    idle.push({ thread: kept, timer });
  };

  return {
    inspect: async (path, source, beside = NOTHING_BESIDE) => {
      const job = { id: ++lastJob, thread: take(), path, source, beside };
      const { found, isThreadGood } = await run(job, limits.computeMs);
      if (isThreadGood) keep(job.thread);
      // Not awaited: the thread's remaining state is not needed.
      else void job.thread.terminate();
      if (found instanceof Error) throw found;
      return found;
    },
    close: async () => {
      for (const { timer } of idle) clearTimeout(timer);
      await Promise.all([...threads].map((one) => one.terminate()));
    },
  };
}

interface Outcome {
  found: FileInspection | Error;
  isThreadGood: boolean;
}

/** Serves the thread's requests until it returns a result or must be terminated. */
function run(job: Job, computeMs: number): Promise<Outcome> {
  const { id, thread, path, source, beside } = job;
  const files: ByteSource[] = [source];
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const failed: Error[] = [];
  const clock = createComputeClock(computeMs, () =>
    resolve({
      found: endedInspection(job, `looking into it took longer than ${computeMs / 1000} s`),
      isThreadGood: false,
    }),
  );
  const say = (message: ToThread): void => thread.postMessage(message);
  const answer = async (ask: number, work: () => Promise<ToThread>): Promise<void> => {
    clock.pause();
    try {
      say(await work());
    } catch (error) {
      failed.push(error instanceof Error ? error : new Error(String(error)));
      say({ op: "failed", ask });
    } finally {
      clock.resume();
    }
  };
  const end = (outcome: Outcome): void => {
    clock.stop();
    resolve(outcome);
  };
  thread.on("message", (message: FromThread) => {
    if (message.job !== id) return undefined;
    switch (message.op) {
      case "begun":
        return clock.resume();
      case "read": {
        const { ask, file, offset, length } = message;
        const from = files[file];
        void answer(ask, async () => {
          if (from === undefined) throw new Fault("INTERNAL", { op: "inspect", detail: "no such file is open" });
          return { op: "bytes", ask, bytes: await from.read(offset, length) };
        });
        return undefined;
      }
      case "open": {
        const { ask, relative } = message;
        void answer(ask, async () => {
          const opened = await beside(relative);
          const file = opened === null ? null : files.push(opened) - 1;
          return { op: "opened", ask, file, sizeBytes: opened?.sizeBytes ?? 0 };
        });
        return undefined;
      }
      case "found":
        return end({ found: message.found, isThreadGood: true });
      case "fault":
        return end({ found: faultOrFound(job, message.fault), isThreadGood: true });
      case "sourceFailed":
        return end({ found: failed[0] ?? new Fault("INTERNAL", { op: "inspect" }), isThreadGood: true });
    }
  });
  thread.on("error", (error: NodeJS.ErrnoException) => {
    const detail =
      error.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? "looking into it takes more memory than one file is given"
        : "looking into it ended unexpectedly";
    end({ found: endedInspection(job, detail), isThreadGood: false });
  });
  thread.once("exit", () => end({ found: endedInspection(job, "looking into it was ended"), isThreadGood: false }));
  say({ op: "inspect", job: id, path, sizeBytes: source.sizeBytes });
  return promise;
}

/** Returns a result about the file for MALFORMED, and any other Fault as it is. */
function faultOrFound(job: Job, told: FaultData): FileInspection | Fault {
  const fault = faultFrom(told);
  return fault.code === "MALFORMED" ? inspectionWith(job, fault) : fault;
}

const endedInspection = (job: Job, detail: string): FileInspection => inspectionWith(job, tooMuch(detail));

function inspectionWith({ path, source }: Job, fault: Fault): FileInspection {
  const { tensors: _, ...found } = emptyFound("binary");
  const nothing = { ...sumUp([]), tensors: [], tensorsOmitted: 0 };
  return { path, sizeBytes: source.sizeBytes, readBytes: 0, reads: 0, ...found, ...nothing, fault: fault.toData() };
}

/** Measures compute time: the clock runs only while no request of the thread is pending. */
function createComputeClock(mostMs: number, onEnd: () => void) {
  let leftMs = mostMs;
  let waiting = 1;
  let startedAt = 0;
  let timer: NodeJS.Timeout | null = null;
  const halt = () => {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    leftMs -= performance.now() - startedAt;
  };
  return {
    pause: () => {
      waiting++;
      halt();
    },
    resume: () => {
      if (--waiting > 0) return;
      startedAt = performance.now();
      timer = setTimeout(onEnd, Math.max(1, leftMs));
    },
    stop: () => {
      waiting = Infinity;
      halt();
    },
  };
}
