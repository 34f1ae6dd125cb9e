import type { StartedUpload } from "#protocol/buckets/browser-transfers.ts";
import { Fault, faultFrom, isFault, toFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { newRequestId } from "../../_hub/actions/use-action.ts";
import { beginUploads } from "../calls.ts";
import { keepTrying } from "../engine/keep-trying.ts";
import { isSameObject } from "../engine/same-object.ts";
import { uploadFile, type UploadProgress, type UploadTools } from "../engine/upload-file.ts";
import type { KeptBatch, KeptFile } from "./kept.ts";

/**
 * Sends the files of one upload in parallel, with limits by size. Uploads begin at the hub in batches, so that thousands of
 * files need few calls and little memory. A failed file does not stop the others; a fault that would hit every file stops all.
 */

/** Large files in parallel would share the link and all end late. Small ones mostly wait for answers, so more of them run. */
const LARGE_AT_ONCE = 12;
const FILES_AT_ONCE = 48;
const SMALL_BYTES = 1024 ** 2;
const BEGUN_AT_ONCE = 25;
const BEGUN_BYTES = 1024 ** 3;
/** Times a file is begun again when the store loses its upload. */
const MOST_BEGINNINGS = 3;

/** Faults that every other file of the batch would meet as well. */
const STOPS_ALL: ReadonlySet<FaultCode> = new Set<FaultCode>([
  "CORS_MISSING",
  "NOT_SIGNED_IN",
  "ROLE_REQUIRED",
  "BAD_CREDENTIALS",
  "ACCESS_DENIED",
  "NO_SUCH_BUCKET",
  "CLOCK_SKEW",
  "WRONG_REGION",
  "LINK_DOWN",
  "STALLED",
  "HUB_UNREACHABLE",
]);

export interface BatchRun {
  batch: KeptBatch;
  files: readonly KeptFile[];
  tools: UploadTools;
  signal: AbortSignal;
  /** Returns the content of a file; null when it must be chosen again. @throws Fault SOURCE_CHANGED */
  open: (file: KeptFile) => Promise<File | null>;
  /** Stores a file after every change of its state, before anything else happens. */
  keep: (file: KeptFile) => Promise<void>;
  onProgress: (file: KeptFile, progress: UploadProgress) => void;
}

/** Begins the next files at the hub. Files that exist already or are refused are settled at once. */
async function beginSome(run: BatchRun, some: readonly KeptFile[]): Promise<void> {
  const { batch } = run;
  const files = some.map(({ id, key, sizeBytes }) => ({ id, key, sizeBytes }));
  const begin = () => beginUploads({ profileId: batch.profileId, ifThere: batch.ifThere, files });
  const { patience } = run.tools;
  const started = await keepTrying(begin, { ...patience, signal: run.signal, onFault: async () => undefined });
  const byId = new Map(started.map((one) => [one.id, one]));
  for (const file of some) await takeBeginning(run, file, byId.get(file.id));
}

async function takeBeginning(run: BatchRun, file: KeptFile, begun: StartedUpload | undefined): Promise<void> {
  if (begun?.outcome === "started") {
    file.partBytes = begun.partBytes;
    await run.keep(file);
    return;
  }
  if (begun?.outcome === "there") {
    const bytes = await run.open(file);
    if (bytes === null) file.state = "needs-file";
    else if (await isSameObject(bytes, begun, (blob) => run.tools.sum(blob, run.signal))) file.state = "same";
    else fail(file, new Fault("ALREADY_EXISTS", { op: "upload", subject: file.key, detail: "with other bytes" }));
  } else {
    fail(file, begun === undefined ? new Fault("INTERNAL", { op: "upload" }) : faultFrom(begun.fault, "upload"));
  }
  await run.keep(file);
}

function fail(file: KeptFile, fault: Fault): void {
  file.state = "failed";
  file.fault = fault.toData();
}

async function sendFile(run: BatchRun, file: KeptFile, isResumed: boolean): Promise<void> {
  const { tools, signal } = run;
  const bytes = await run.open(file);
  if (bytes === null) {
    file.state = "needs-file";
    return;
  }
  for (let beginning = 1; ; beginning++) {
    if (file.partBytes === null) await beginSome(run, [file]);
    if (file.partBytes === null || file.state === "same" || file.state === "failed") return;
    file.state = "running";
    try {
      await uploadFile(
        {
          id: file.id,
          key: file.key,
          partBytes: file.partBytes,
          file: bytes,
          from: isResumed && beginning === 1 ? "resumed" : "fresh",
          signal,
          assertSame: async () => void (await run.open(file)),
          onChange: (progress) => run.onProgress(file, progress),
        },
        tools,
      );
      file.state = "done";
      return;
    } catch (error) {
      const isLost = isFault(error) && (error.code === "NO_SUCH_UPLOAD" || error.code === "NOT_FOUND");
      if (!isLost || beginning >= MOST_BEGINNINGS) throw error;
      file.id = newRequestId();
      file.partBytes = null;
      file.doneBytes = 0;
    }
  }
}

/** Creates a semaphore that admits waiters first in, first out. */
function createRoom(places: number): { enter: () => Promise<() => void> } {
  const waiting: (() => void)[] = [];
  let free = places;
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    enter: async () => {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return leave;
    },
  };
}

/** Sends the waiting files. @throws Fault CANCELLED, or the one that stops the whole upload */
export async function runBatch(run: BatchRun): Promise<void> {
  const { signal } = run;
  const stop = new AbortController();
  const whole = AbortSignal.any([signal, stop.signal]);
  const here: BatchRun = { ...run, signal: whole };
  const waiting = run.files.filter(({ state }) => state === "waiting" || state === "running");
  // Begun before a reload or pause: only the store knows which parts it has.
  const resumed = new Set(waiting.filter(({ partBytes }) => partBytes !== null).map(({ index }) => index));
  let stoppedBy: Fault | null = null;
  let beginning: Promise<void> = Promise.resolve();
  let next = 0;

  const beginAhead = async (from: number): Promise<void> => {
    const some: KeptFile[] = [];
    let bytes = 0;
    for (const file of waiting.slice(from, from + BEGUN_AT_ONCE)) {
      if (file.partBytes === null && file.state === "waiting") some.push(file);
      bytes += file.sizeBytes;
      if (bytes > BEGUN_BYTES) break;
    }
    if (some.length > 0) await beginSome(here, some);
  };
  const take = async (): Promise<KeptFile | null> => {
    const at = next++;
    const file = waiting[at];
    if (file === undefined) return null;
    const mine = beginning.then(() =>
      file.partBytes === null && file.state === "waiting" ? beginAhead(at) : undefined,
    );
    beginning = mine.catch(() => undefined);
    await mine;
    return file;
  };
  const endOf = async (file: KeptFile, error: unknown): Promise<void> => {
    const fault = toFault(error);
    // A file that was begun continues later from its acknowledged parts.
    file.state = "waiting";
    if (fault.code === "CANCELLED") return;
    if (STOPS_ALL.has(fault.code)) {
      stoppedBy ??= fault;
      stop.abort();
      return;
    }
    fail(file, fault);
    await run.keep(file);
  };
  const room = createRoom(LARGE_AT_ONCE);
  const lane = async (): Promise<void> => {
    while (!whole.aborted) {
      let file: KeptFile | null = null;
      try {
        file = await take();
        if (file === null) return;
        if (file.state !== "waiting" && file.state !== "running") continue;
        const leave = file.sizeBytes > SMALL_BYTES ? await room.enter() : null;
        try {
          await sendFile(here, file, resumed.has(file.index));
        } finally {
          leave?.();
        }
        await run.keep(file);
      } catch (error) {
        if (file === null) {
          stoppedBy ??= toFault(error);
          stop.abort();
        } else await endOf(file, error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(FILES_AT_ONCE, waiting.length) }, lane));
  if (stoppedBy !== null) throw stoppedBy;
  if (signal.aborted) throw new Fault("CANCELLED");
}
