import { Fault } from "#protocol/faults/fault.ts";
import { sumBlob } from "./sum-blob.ts";
import type { SumAnswer, SumQuestion } from "./sum-worker.ts";

/** Computes CRC32s in a web worker, or in the page in slices of a few milliseconds where workers fail. */
export interface Summer {
  sum: (blob: Blob, signal: AbortSignal) => Promise<string>;
  stop: () => void;
}

export function createSummer(): Summer {
  let worker: Worker | null = null;
  let isBroken = false;
  let count = 0;
  const waiting = new Map<number, { blob: Blob; resolve: (crc32: string) => void; reject: (error: unknown) => void }>();
  const never = new AbortController().signal;
  const doHere = (): void => {
    isBroken = true;
    worker?.terminate();
    worker = null;
    for (const { blob, resolve, reject } of waiting.values()) sumBlob(blob, never).then(resolve, reject);
    waiting.clear();
  };
  const start = (): Worker => {
    const made = new Worker(new URL("./sum-worker.ts", import.meta.url), { type: "module" });
    made.addEventListener("error", doHere);
    made.addEventListener("message", ({ data }: MessageEvent<SumAnswer>) => {
      const asked = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.crc32 === null) asked?.reject(new Fault("SOURCE_CHANGED", { op: "read the file" }));
      else asked?.resolve(data.crc32);
    });
    return made;
  };
  return {
    sum: (blob, signal) => {
      if (isBroken || typeof Worker === "undefined") return sumBlob(blob, signal);
      return new Promise((resolve, reject) => {
        const id = count++;
        waiting.set(id, { blob, resolve, reject });
        try {
          worker ??= start();
          worker.postMessage({ id, blob } satisfies SumQuestion);
        } catch {
          doHere();
        }
      });
    },
    stop: () => {
      worker?.terminate();
      worker = null;
    },
  };
}
