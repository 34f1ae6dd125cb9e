import { readListParts } from "#storage/s3/answers.ts";
import { Fault, isFault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import { dataKeyOrNull, OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import type { RunName } from "#protocol/base/names.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { systemClock } from "../base/clock.ts";
import { listUploads } from "../object-copy/listing/list-uploads.ts";
import type { StoreSession } from "../store-session/store-session.ts";
import { callStore } from "../transfer/engine.ts";
import { abandonUpload } from "../transfer/upload/send.ts";
import type { Say } from "./keep-after-commits.ts";

/**
 * Aborts multipart uploads that earlier writers of a run left unfinished. Their parts stay in the bucket, and cost
 * storage, until the upload is aborted.
 */

interface BegunUpload {
  key: string;
  uploadId: string;
}

/** Multipart uploads of a bucket that are neither completed nor aborted. */
export interface UploadCalls {
  /** Returns at most a thousand uploads below a folder, in the order of their keys. Faults: those of the store, CANCELLED. */
  list(folder: string): Promise<BegunUpload[]>;
  /** Returns the bytes of the parts that the store has; 0 when it does not tell. Faults: CANCELLED. */
  sizeOf(upload: BegunUpload): Promise<number>;
  /** Aborts an upload; a missing one is no failure. Faults: those of the store, CANCELLED. */
  abort(upload: BegunUpload): Promise<void>;
}

export function createUploadCalls(storeSession: StoreSession, signal: AbortSignal): UploadCalls {
  const { engine } = storeSession;
  const partsOf = async ({ key, uploadId }: BegunUpload): Promise<number> => {
    let bytes = 0;
    for (let after: number | null = 0; after !== null;) {
      const operation = { op: "parts", key, uploadId, after } as const;
      const page: ReturnType<typeof readListParts> = await callStore(engine, { operation, signal }, readListParts);
      bytes += page.parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      after = page.nextAfter;
    }
    return bytes;
  };
  return {
    list: (prefix) => listUploads(storeSession, { prefix, signal }),
    sizeOf: (upload) =>
      partsOf(upload).catch((error: unknown) => {
        if (!isFault(error) || error.code === "CANCELLED") throw error;
        return 0;
      }),
    abort: async (upload) => {
      try {
        await abandonUpload(engine, { ...upload, signal });
      } catch (error) {
        if (!isFault(error) || error.code !== "NO_SUCH_UPLOAD") throw error;
      }
    },
  };
}

interface AbortParts {
  uploads: UploadCalls;
  prefix: string;
  /** Checks that this node still writes the run. @throws Fault EPOCH_OVER when another node does, those of the store */
  assertWriter(run: RunName, epoch: number): Promise<void>;
}

const LANES = 4;

/**
 * Aborts at most a thousand uploads of a run with epochs below `first`. They belong to no checkpoint: no manifest of
 * their epochs is accepted any more, and their nodes send no more captures of them. `epoch`: the present epoch;
 * `first`: the lowest epoch that this node may still send captures of. @throws Fault EPOCH_OVER when another node
 * writes the run, those of the store
 */
export async function abortEnded(
  { uploads, prefix, assertWriter }: AbortParts,
  { run, epoch, first = epoch }: { run: RunName; epoch: number; first?: number },
): Promise<{ count: number; bytes: number }> {
  const found = await uploads.list(`${prefix}${OWN_FOLDERS.data}${run}/`);
  const ended = found.filter(({ key }) => (dataKeyOrNull(prefix, key)?.epoch ?? first) < first);
  const aborted = { count: 0, bytes: 0 };
  await forEachOf(ended, LANES, async (upload) => {
    const bytes = await uploads.sizeOf(upload);
    await assertWriter(run, epoch);
    await uploads.abort(upload);
    aborted.count++;
    aborted.bytes += bytes;
  });
  return aborted;
}

/** Aborts uploads of earlier writers in the background, once for each epoch that this node claims. */
export interface UploadAborter {
  /** `first`: the lowest epoch that this node may still send checkpoints of. */
  claimed(run: RunName, epoch: number, first: number): void;
  /** Waits up to this many ms for the abort in progress, then aborts nothing more. Never throws. */
  finish(mostMs: number): Promise<void>;
}

export function createUploadAborter(parts: AbortParts & { say: Say }): UploadAborter {
  const begun = new Set<string>();
  const running = new Set<Promise<void>>();
  let isOver = false;
  const assertWriter = async (run: RunName, epoch: number) => {
    if (isOver) throw new Fault("CANCELLED", { op: "abort uploads", subject: run });
    await parts.assertWriter(run, epoch);
  };
  const abort = async (run: RunName, epoch: number, first: number) => {
    try {
      const { count, bytes } = await abortEnded({ ...parts, assertWriter }, { run, epoch, first });
      if (count === 0) return;
      const what = count === 1 ? "1 upload" : `${formatCount(count)} uploads`;
      const sentence = `Removed the parts of ${what} of ${run} that an earlier writer left unfinished: ${formatBytes(bytes)}.`;
      parts.say(sentence, { type: "uploads-aborted", run, count, bytes });
    } catch (error) {
      const fault = toFault(error, { op: "abort uploads", subject: run }).toData();
      // The next writer tries again. A run that another node took over must not be cleaned up by this one.
      if (fault.code === "CANCELLED" || fault.code === "EPOCH_OVER") return;
      const sentence = `Parts of uploads of ${run} that earlier writers left unfinished may stay in the bucket: ${sentenceOf(fault)}`;
      parts.say(sentence, { type: "note", sentence });
    }
  };
  return {
    claimed: (run, epoch, first) => {
      const name = `${run}/${epoch}`;
      // The first epoch of a run has no earlier one.
      if (epoch <= 1 || begun.has(name)) return;
      begun.add(name);
      const task = abort(run, epoch, first).finally(() => running.delete(task));
      running.add(task);
    },
    finish: async (mostMs) => {
      const over = new AbortController();
      const late = systemClock.sleep(mostMs, over.signal).catch(() => undefined);
      await Promise.race([Promise.all(running), late]);
      over.abort();
      isOver = true;
    },
  };
}
