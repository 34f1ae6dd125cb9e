import type { Fault } from "#protocol/faults/fault.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { PartPlan, PlannedPart } from "#storage/s3/plan.ts";
import type { FileIdentity } from "#worker/base/file-identity.ts";
import type { PartSums } from "./read-part.ts";
import type { SendSource } from "./send-source.ts";
import type { Attempting, Patience } from "../store-session/retry.ts";
import type { PartState } from "../progress/transfer-progress.ts";

/** One file to send to one object: input of `sendFile`. */
export interface SendJob {
  /** Named in faults; also the file to read unless `open` is set. */
  path: string;
  key: string;
  identity: FileIdentity;
  /** Same as in `ExpectedFile`. */
  onGrown?: (() => void) | undefined;
  /** Opens the source of the bytes when they are not those of one file. */
  open?: () => Promise<SendSource>;
  plan: PartPlan;
  nonce: string;
  /** Returns the checksums of a part if they are known already. */
  knownSums: (part: PlannedPart) => PartSums | null;
  memory: SendMemory;
  watch: SendWatch;
  /** Ends uploads of the same key that were begun by a Create whose answer was lost. Never throws. */
  sweep?: (lost: LostCreate) => Promise<void>;
}

/** The fields of a job that its requests need, wherever the bytes come from. */
export type SendRequests = Omit<SendJob, "identity" | "onGrown" | "open">;

/** A Create whose answer was lost: it may have begun an upload of unknown id. */
export interface LostCreate {
  key: string;
  /** The upload that was begun afterwards. The lost ones began at most `withinMs` before it, or a little later than it. */
  uploadId: string;
  withinMs: number;
}

/** State of an upload that survives a kill; each method resolves when its record is on disk. */
export interface SendMemory {
  uploadId: string | null;
  /** Checksum that the upload was begun with: Complete must name the same. Null when unknown. */
  checksum: StoreChecksum | null;
  /** Time before this upload in which uploads may have been begun by lost Creates, ms; null when there can be none. */
  lostWithinMs: number | null;
  /** Whether this process began the upload, so that the store knows no part that is not in `parts`. */
  isFresh: boolean;
  parts: ReadonlyMap<number, SentPart>;
  /** Records a new upload: parts of an earlier one count no more. */
  begin(upload: BegunUpload): Promise<void>;
  acknowledge(partNumber: number, part: SentPart): Promise<void>;
  /** ETag of the object once it was verified: nothing is left to do. Null before. */
  sentEtag: string | null;
  /** Records that the object is verified. `crc32`: of the only part, when it was not acknowledged before. */
  finish(etag: string, crc32?: string): Promise<void>;
}

export interface BegunUpload {
  uploadId: string;
  checksum: StoreChecksum;
  /** Epoch ms of the first try, when it took several. */
  firstTryMs?: number;
}

export interface SentPart {
  etag: string;
  crc32: string;
}

interface SendWatch {
  signal: AbortSignal;
  patience: Patience;
  /** Counts bytes in flight (negative: a part failed, and they must be sent again). */
  onMoved(bytes: number): void;
  onPart(part: PlannedPart, state: PartState): void;
  onRetry(fault: Fault): void;
}

/** Returns the retry context of a job. */
export const attempting = (job: Pick<SendJob, "watch">): Attempting => ({
  signal: job.watch.signal,
  patience: job.watch.patience,
  onRetry: job.watch.onRetry,
});
