import { basename } from "node:path";
import { isFault, toFault, type Fault } from "#protocol/faults/fault.ts";
import { planPartBytes, planParts, type PlanInput } from "#storage/s3/plan.ts";
import { isTurnOver, nextTurn } from "../base/adaptive-sync-io.ts";
import type { Engine } from "../transfer/engine.ts";
import { forEachFile } from "../base/for-each.ts";
import type { FileIdentity } from "../base/file-identity.ts";
import { createPatience, withRetry } from "../transfer/store-session/retry.ts";
import { sendEmpty } from "../transfer/upload/send-empty.ts";
import { openSendJournal } from "../transfer/upload/send-journal.ts";
import type { LostCreate, SendJob } from "../transfer/upload/send-job.ts";
import { abandonUpload, sendFile, sweepLost } from "../transfer/upload/send.ts";
import { createProgressCounters, type ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { mapRows, type Rows } from "../base/rows.ts";
import { warmForSmall } from "./warm-small.ts";

export interface FileToUpload {
  readonly path: string;
  readonly sizeBytes: number;
  readonly identity: FileIdentity;
}

/** Job of an upload. There may be a million files, so a file holds no state before or after its own transfer. */
export interface UploadJob<F extends FileToUpload> {
  files: Rows<F>;
  keyOf(file: F): string;
  journalPath: string;
  partBytes: number | null;
  /** See `SendJob.sweep`. */
  sweep(lost: LostCreate): Promise<void>;
  signal: AbortSignal;
  /** Called for files that are appended to meanwhile; the length at the time of listing is sent. */
  onGrown?(file: F): void;
  /** Called with the progress before the first byte moves. */
  onStart(counters: ProgressCounters): void;
  /** Decides about a file that failed; when left out, the first failure ends the job. */
  onFileFailed?(file: F, fault: Fault): "go on" | "stop";
}

/**
 * Sends files to their keys, several at a time; resumes an earlier run of the same job.
 * @throws Fault TOO_LARGE before anything is sent, and those of `sendFile`
 */
export async function uploadFiles<F extends FileToUpload>(
  engine: Engine,
  job: UploadJob<F>,
): Promise<ProgressCounters> {
  const { clock } = engine.retrier;
  const { files, keyOf } = job;
  const sizeOf = ({ sizeBytes }: F): PlanInput => ({
    sizeBytes,
    traits: engine.traits,
    ...(job.partBytes === null ? {} : { requestedPartBytes: job.partBytes }),
  });
  const partBytesOf = (file: F) => planPartBytes(sizeOf(file));
  const partCountOf = (file: F) => Math.ceil(file.sizeBytes / partBytesOf(file));
  const counted = (file: F) => ({
    path: keyOf(file),
    sizeBytes: file.sizeBytes,
    partCount: partCountOf(file),
  });
  const counters = createProgressCounters(mapRows(files, counted), clock.now);
  job.onStart(counters);
  const patience = createPatience(clock);
  let hasFailed = false;
  const journal = await openSendJournal(job.journalPath);
  const isSmall = (file: F) => partCountOf(file) <= 1;
  // A failure to write the journal ahead is ignored, because each file's own journal call meets it again.
  const remember = inGroups(files, (group) =>
    journal
      .ahead(
        group
          .filter(isSmall)
          .map((file) => ({ key: keyOf(file), identity: file.identity, partBytes: partBytesOf(file) })),
      )
      .catch(() => undefined),
  );
  const keysOfSmall = function* () {
    for (const file of files) if (partCountOf(file) === 1) yield keyOf(file);
  };
  try {
    const abandon = (key: string) => async (uploadId: string) => {
      try {
        await withRetry(engine.retrier, { signal: job.signal, patience }, () =>
          abandonUpload(engine, { key, uploadId, signal: job.signal }),
        );
      } catch (error) {
        // An upload that cannot be aborted only wastes space.
        if (isFault(error) && error.code === "CANCELLED") throw error;
      }
    };
    const sendOne = async (file: F, fileIndex: number) => {
      const { identity, path } = file;
      const key = keyOf(file);
      const plan = planParts(sizeOf(file));
      if (plan.parts.length <= 1) await remember(fileIndex);
      const about = { key, path, identity, partBytes: plan.partBytes, abandon: abandon(key) };
      const { memory, nonce } = await journal.file(about);
      // Files that are already sent never wait for I/O, so the event loop has to be yielded to explicitly.
      while (memory.sentEtag !== null && isTurnOver()) await nextTurn();
      if (plan.parts.length === 0) await sendEmpty(engine, { key, nonce, signal: job.signal });
      const send: SendJob = {
        path,
        key,
        identity,
        ...(isAppendOnly(path) && { onGrown: () => job.onGrown?.(file) }),
        plan,
        nonce,
        memory,
        knownSums: () => null,
        watch: {
          signal: job.signal,
          patience,
          onMoved: counters.moved,
          onPart: (part, state) =>
            counters.part({ fileIndex, partIndex: part.partNumber - 1, length: part.length }, state),
          onRetry: counters.retried,
        },
        sweep: job.sweep,
      };
      try {
        await sendFile(engine, send);
      } catch (error) {
        // The next try sends another version of the file, so these parts are useless.
        if (isFault(error) && error.code === "SOURCE_CHANGED" && memory.uploadId !== null) {
          await sweepLost(send);
          await abandon(key)(memory.uploadId);
        }
        throw error;
      }
      // Without checksum support of the store, only the size and the upload's nonce were compared.
      counters.fileDone(engine.store.checksum === "none" ? "unverified" : "verified");
      journal.letGo(key);
    };
    await warmForSmall(engine, keysOfSmall());
    await forEachFile(files, { isSmall, direction: "up" }, async (file, fileIndex) => {
      try {
        await sendOne(file, fileIndex);
      } catch (error) {
        if (job.onFileFailed?.(file, toFault(error)) !== "go on") throw error;
        hasFailed = true;
      }
    });
  } catch (error) {
    await journal.close();
    throw error;
  }
  // After a failure the journal stays, so that the next try continues from the parts already sent.
  await (hasFailed ? journal.close() : journal.remove());
  return counters;
}

/** Names of files that programs only append to, so that growth does not make one another version. */
const APPEND_ONLY = /(?:\.(?:log|out|err|jsonl|ndjson)|(?:^|\.)tfevents\..+|(?:^|[._-])log\.txt)$/i;

/** Returns whether programs only append to a file of this name. */
export const isAppendOnly = (path: string): boolean => APPEND_ONLY.test(basename(path));

/** Returns a function that, for the index of a row, runs `work` once for the row's whole group. */
function inGroups<T>(all: Rows<T>, work: (group: readonly T[]) => Promise<void>): (index: number) => Promise<void> {
  const done = new Map<number, Promise<void>>();
  return (index) => {
    const group = Math.floor(index / GROUP);
    const known = done.get(group);
    if (known !== undefined) return known;
    const its: T[] = [];
    for (let at = group * GROUP; at < Math.min((group + 1) * GROUP, all.length); at++) {
      const one = all.at(at);
      if (one !== undefined) its.push(one);
    }
    const working = work(its);
    done.set(group, working);
    return working;
  };
}

const GROUP = 256;
