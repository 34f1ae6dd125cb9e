import type { Fault } from "#protocol/faults/fault.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { PartPlan, PlannedPart } from "#storage/s3/plan.ts";
import type { FileIdentity } from "#worker/base/file-identity.ts";
import type { PartSums } from "./read-part.ts";
import type { SendSource } from "./send-source.ts";
import type { Attempting, Patience } from "../store-session/retry.ts";
import type { PartState } from "../progress/transfer-progress.ts";

/** One file to one object: what `sendFile` is told. */
export interface SendJob {
  /** For faults, and where the bytes come from unless `open` says otherwise. */
  path: string;
  key: string;
  identity: FileIdentity;
  /** As that of an `ExpectedFile`. */
  onGrown?: (() => void) | undefined;
  /** Where the bytes come from when they are not those of one file. */
  open?: () => Promise<SendSource>;
  plan: PartPlan;
  nonce: string;
  /** Sums of a part where they are known already. */
  knownSums: (part: PlannedPart) => PartSums | null;
  memory: SendMemory;
  watch: SendWatch;
  /** Ends uploads of the same key that the store began for us without our hearing of it. Never throws. */
  sweep?: (lost: LostCreate) => Promise<void>;
}

/** What the requests need to know of it, wherever its bytes come from. */
export type SendRequests = Omit<SendJob, "identity" | "onGrown" | "open">;

/** A Create whose answer was lost began an upload that nobody knows the id of. */
export interface LostCreate {
  key: string;
  /** The upload that was begun afterwards, and how long before it the lost ones can have begun; a little later than it, too. */
  uploadId: string;
  withinMs: number;
}

/** What survives a kill; each method resolves when it is on disk. */
export interface SendMemory {
  uploadId: string | null;
  /** What the upload was begun with: Complete must name the same. Null when nobody remembers. */
  checksum: StoreChecksum | null;
  /** How long before this upload others may have been begun for us without our hearing of it; null when none can. */
  lostWithinMs: number | null;
  /** The upload was begun in this life of the process, so the store knows no part that is not in `parts`. */
  isFresh: boolean;
  parts: ReadonlyMap<number, SentPart>;
  /** A new upload: parts of an earlier one count no more. */
  begin(upload: BegunUpload): Promise<void>;
  acknowledge(partNumber: number, part: SentPart): Promise<void>;
  /** ETag of the object once it was verified: nothing is left to do. */
  sentEtag: string | null;
  /** `crc32`: of the only part, where nobody has acknowledged it. */
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
  /** Bytes that were on their way (negative: a part failed and they have to go again). */
  onMoved(bytes: number): void;
  onPart(part: PlannedPart, state: PartState): void;
  onRetry(fault: Fault): void;
}

/** How the requests of a job are tried. */
export const attempting = (job: Pick<SendJob, "watch">): Attempting => ({
  signal: job.watch.signal,
  patience: job.watch.patience,
  onRetry: job.watch.onRetry,
});
