import type { SendMemory, SentPart } from "./send-job.ts";

/** Creates a memory that lasts as long as the process. */
export function rememberHere(): SendMemory {
  const parts = new Map<number, SentPart>();
  const memory: SendMemory = {
    uploadId: null,
    checksum: null,
    lostWithinMs: null,
    isFresh: true,
    parts,
    sentEtag: null,
    begin: async ({ uploadId, checksum, firstTryMs }) => {
      const lostWithinMs = firstTryMs === undefined ? null : Math.max(0, Date.now() - firstTryMs);
      Object.assign(memory, { uploadId, checksum, lostWithinMs });
    },
    acknowledge: async (partNumber, part) => void parts.set(partNumber, part),
    finish: async (sentEtag) => void Object.assign(memory, { sentEtag }),
  };
  return memory;
}
