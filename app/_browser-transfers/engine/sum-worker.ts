import { toFault } from "#protocol/faults/fault.ts";
import { sumBlob } from "./sum-blob.ts";

/** Computes CRC32s of files in a web worker, so that the page itself is never blocked. */

export interface SumQuestion {
  id: number;
  blob: Blob;
}
export interface SumAnswer {
  id: number;
  /** Null when the file could not be read. */
  crc32: string | null;
}

const never = new AbortController().signal;

self.addEventListener("message", ({ data }: MessageEvent<SumQuestion>) => {
  const answer = (crc32: string | null): void => self.postMessage({ id: data.id, crc32 } satisfies SumAnswer);
  sumBlob(data.blob, never).then(answer, (error: unknown) => {
    toFault(error);
    answer(null);
  });
});
