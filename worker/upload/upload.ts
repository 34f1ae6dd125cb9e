import { join } from "node:path";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import type { ClaimAnswer, EarlierLine, NodeStore } from "#protocol/wire/hello.ts";
import { dataKey } from "#protocol/checkpoint/keys.ts";
import { nodeName, type NodeName } from "#protocol/base/names.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { doubtOfPiece } from "#protocol/checkpoint/pieces.ts";
import { plainBytesOf } from "#protocol/checkpoint/sealing.ts";
import { hiddenPathOf, sealInside } from "#storage/encryption/checkpoint-key.ts";
import { boundOf } from "#storage/encryption/open-manifest.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import type { Engine } from "../transfer/engine.ts";
import { forEachFile, MOST_LANES } from "../base/for-each.ts";
import { createPatience, type Patience } from "../transfer/store-session/retry.ts";
import { openSendJournal, type SendJournal } from "../transfer/upload/send-journal.ts";
import { isSummedFor, type PartSums } from "../transfer/upload/read-part.ts";
import type { SendJob } from "../transfer/upload/send-job.ts";
import { partOperation } from "../transfer/upload/send-part.ts";
import { abandonUpload, beginUpload, sendFile } from "../transfer/upload/send.ts";
import {
  createProgressCounters,
  type ProgressCounters,
  type CountedFile,
} from "../transfer/progress/transfer-progress.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Capture } from "../capture/capture.ts";
import { forgetSeal, sealAsSaved, sealCapture, type Seal } from "./seal-capture.ts";
import { extentsOf, outgoingOf, type Outgoing } from "./outgoing.ts";

/**
 * Input of `sendCapture`: one capture, and the bucket that it goes to. The callers announce the capture before and
 * commit it afterwards; only the hub's answer to the commit makes the checkpoint safe.
 */
export interface UploadJob {
  capture: Capture;
  claim: ClaimAnswer;
  node: { id: string; name: string };
  store: NodeStore;
  hub: Hub;
  /** Folder of journals. */
  journals: string;
  signal: AbortSignal;
  /** Whether it is safe elsewhere already, so that the same bytes go to a replica. */
  isCopy?: boolean;
  onStart(counters: ProgressCounters): void;
}

export const journalOf = (journals: string, capture: Pick<Capture, "transferId">): string =>
  join(journals, `${capture.transferId}.jsonl`);

/**
 * Announces a capture to the hub; may be repeated. Returns the line of the capture if its program has left that line
 * since, else null. Faults: SEAL_REQUIRED, EPOCH_OVER, HUB_UNREACHABLE, CONFLICT (an older hub would take a final model
 * for a checkpoint).
 */
export async function announce(
  hub: Hub,
  capture: Capture,
  about: { writerEpoch: number; sealKeyId: string | null },
): Promise<EarlierLine | null> {
  const { id: checkpointId, run, step, attempt, framework, capturedAt, role } = capture;
  const home = capture.home == null ? {} : { profileId: capture.home };
  const files = capture.files.map(({ path, sizeBytes }) => ({ path, sizeBytes }));
  const kind = role === undefined ? {} : { role };
  const answer = await hub.ask("announce", (client, signal) =>
    client.node.announce.mutate(
      { checkpointId, run, ...about, step, attempt, framework, capturedAt, files, ...home, ...kind },
      { signal },
    ),
  );
  if (answer.role !== role) {
    const detail = "the hub is older than this worker and does not keep final models; update it";
    throw new Fault("CONFLICT", { op: "announce", subject: run, detail });
  }
  return answer.earlier ?? null;
}

/** Opens the uploads of a capture and signs its parts ahead. `sendCapture` repeats none of it. */
export async function prepareCapture(
  engine: Engine,
  job: Pick<UploadJob, "capture" | "claim" | "store" | "journals" | "signal">,
): Promise<void> {
  const { clock } = engine.retrier;
  const counters = createProgressCounters([], clock.now);
  const patience = createPatience(clock);
  const journal = await openSendJournal(journalOf(job.journals, job.capture));
  try {
    const sends = await Promise.all(
      outgoingOf(engine, job.capture, await sealOf(engine, job)).map((outgoing) =>
        prepareSend(engine, job, { journal, outgoing, counters, patience }),
      ),
    );
    await signUploadAhead(engine, sends);
  } finally {
    await journal.close();
  }
}

/** Sends every byte and returns the manifest to commit. Faults: those of `sendFile`, EPOCH_OVER, those of the hub. */
export async function sendCapture(engine: Engine, job: UploadJob): Promise<Manifest> {
  const { capture, signal } = job;
  const { clock } = engine.retrier;
  const seal = await sealOf(engine, job);
  const outgoing = outgoingOf(engine, capture, seal);
  const counters = createProgressCounters(countedFiles(capture, outgoing), clock.now);
  job.onStart(counters);
  const journal = await openSendJournal(journalOf(job.journals, capture));
  try {
    const patience = createPatience(clock);
    // Together, so that the lines of the journal share one fsync.
    const sends = await Promise.all(
      outgoing.map((one) => prepareSend(engine, job, { journal, outgoing: one, counters, patience })),
    );
    await signUploadAhead(engine, sends);
    const files: Manifest["files"] = [];
    const isSmall = ({ plan }: SendJob) => plan.parts.length <= 1;
    await forEachFile(sends, { isSmall, direction: "up" }, async (send, index) => {
      const object = outgoing[index];
      if (object === undefined) return;
      for (const [fileIndex, extents] of extentsOf(object, await sendFile(engine, send))) {
        const file = capture.files[fileIndex];
        if (file === undefined) continue;
        const { path, sizeBytes, mtimeMs } = file;
        files[fileIndex] = { path, sizeBytes, mtimeMs, sha256: null, extents };
        counters.fileDone();
      }
    });
    if (signal.aborted) throw new Fault("CANCELLED");
    return manifestOf(job, { files, seal });
  } finally {
    await journal.close();
  }
}

/** Returns the seal of a capture, made once for it; null when its run is not encrypted. */
async function sealOf(
  { traits }: Pick<Engine, "traits">,
  { capture, store, signal, isCopy = false }: Pick<UploadJob, "capture" | "store" | "signal" | "isCopy">,
): Promise<Seal | null> {
  if (isCopy) return sealAsSaved({ capture, traits, signal });
  const { sealing } = store;
  if (sealing != null) return sealCapture({ capture, sealing, traits, signal });
  await forgetSeal(capture);
  return null;
}

/** Returns the files for the progress; a file in a pack moves in one piece. */
function countedFiles({ files }: Capture, outgoing: readonly Outgoing[]): CountedFile[] {
  const partCounts = new Map<number, number>();
  for (const { members, plan } of outgoing) {
    for (const { fileIndex } of members) partCounts.set(fileIndex, plan.parts.length);
  }
  return files.map(({ path, sizeBytes }, index) => ({ path, sizeBytes, partCount: partCounts.get(index) ?? 0 }));
}

async function prepareSend(
  engine: Engine,
  job: Pick<UploadJob, "capture" | "claim" | "store" | "signal">,
  about: { journal: SendJournal; outgoing: Outgoing; counters: ProgressCounters; patience: Patience },
): Promise<SendJob> {
  const { capture, claim, store, signal } = job;
  const { outgoing, counters, patience } = about;
  const { name, path, identity, plan, members, isPack, open } = outgoing;
  const { run, attempt } = capture;
  const key = dataKey(store.prefix, { run, epoch: claim.epoch, attempt, path: name });
  const { memory, nonce } = await about.journal.file({ key, path, identity, partBytes: plan.partBytes });
  const known = isPack && memory.sentEtag === null ? await sumsForStore(engine, outgoing) : null;
  return {
    path,
    key,
    identity,
    ...(open !== undefined && { open }),
    plan,
    nonce,
    memory,
    knownSums: known === null ? outgoing.knownSums : () => known,
    watch: {
      signal,
      patience,
      onMoved: counters.moved,
      onPart: (part, state) => {
        for (const { file, fileIndex, length: movedBytes } of members) {
          const ownBytes = outgoing.isSealed ? plainBytesOf(part.length) : part.length;
          const length = isPack ? file.sizeBytes : ownBytes;
          const moved = isPack ? movedBytes : part.length;
          counters.part({ fileIndex, partIndex: part.partNumber - 1, length, movedBytes: moved }, state);
        }
      },
      onRetry: counters.retried,
    },
  };
}

/**
 * Returns the sums of a pack, which knows its CRC32. For a store that wants another sum it is read once, to be signed ahead.
 */
async function sumsForStore(engine: Engine, { plan, knownSums, open }: Outgoing): Promise<PartSums | null> {
  const { checksum } = engine.store;
  const [part] = plan.parts;
  const sums = part === undefined ? null : knownSums(part);
  if (part === undefined || sums === null || open === undefined || isSummedFor(sums, checksum)) return sums;
  const source = await open();
  try {
    return await source.sum(part, checksum);
  } finally {
    await source.close();
  }
}

/**
 * Opens every multipart upload and signs every part before the first byte moves. The capture can then be sent on signatures in
 * hand when the hub goes away.
 */
async function signUploadAhead(engine: Engine, sends: readonly SendJob[]): Promise<void> {
  const todo = sends.filter(({ memory, plan }) => memory.sentEtag === null && plan.parts.length > 0);
  await forEachOf(
    todo.filter(({ memory, plan }) => plan.parts.length > 1 && memory.uploadId === null),
    MOST_LANES,
    (send) => beginUpload(engine, send),
  );
  const operations: Operation[] = [];
  const { checksum } = engine.store;
  for (const send of todo) {
    const { key, plan, memory } = send;
    for (const part of plan.parts) {
      const sums = send.knownSums(part);
      if (sums === null || !isSummedFor(sums, checksum) || memory.parts.has(part.partNumber)) continue;
      operations.push(partOperation(send, { part, uploadId: memory.uploadId, sums, checksum }));
    }
    if (plan.parts.length > 1 && memory.uploadId !== null)
      // A later attempt lists the parts when it resumes the upload, which must not need the hub either.
      operations.push(
        { op: "complete", key, uploadId: memory.uploadId },
        { op: "parts", key, uploadId: memory.uploadId, after: 0 },
      );
    operations.push({ op: "head", key });
  }
  await engine.signatures.prepare(operations);
}

/** Returns the manifest with a doubt that arose after the bytes were sent. */
export function withDoubt(manifest: Manifest, doubt: string | undefined): Manifest {
  if (doubt === undefined || manifest.piece !== undefined) return manifest;
  const { transform } = manifest;
  return { ...manifest, doubt: transform.kind === "sealed" && transform.hideNames ? HIDDEN_DOUBT : doubt };
}

/** Shown in place of the true reason, which names files. */
const HIDDEN_DOUBT = "it may not be whole; its node says why";

function manifestOf(job: UploadJob, { files, seal }: { files: Manifest["files"]; seal: Seal | null }): Manifest {
  const { capture, claim, store, node } = job;
  const hasFrames = capture.files.some(({ frame }) => frame !== undefined);
  const sealed = seal === null ? null : sealManifest(capture, { files, seal, zstd: hasFrames });
  const name: NodeName = nodeName.parse(node.name);
  return {
    format: "tidemark.checkpoint",
    version: 1,
    id: capture.id,
    run: capture.run,
    step: capture.step,
    writerEpoch: claim.epoch,
    parent: claim.parent,
    ...(claim.branch !== undefined && { branch: claim.branch }),
    attempt: capture.attempt,
    node: { id: node.id, name },
    framework: capture.framework,
    ...(capture.role !== undefined && { role: capture.role }),
    ...(capture.doubt !== undefined && { doubt: seal?.hideNames === true ? HIDDEN_DOUBT : capture.doubt }),
    ...(capture.piece !== undefined && { piece: capture.piece, doubt: capture.doubt ?? doubtOfPiece(capture.piece) }),
    ...(capture.place !== undefined && seal?.hideNames !== true && { place: capture.place }),
    ...(capture.attributes !== undefined && seal?.hideNames !== true && { attributes: capture.attributes }),
    metrics: capture.metrics,
    capturedAt: capture.capturedAt,
    sizeBytes: capture.sizeBytes,
    homes: [{ profileId: store.profileId, bucket: store.bucket, prefix: store.prefix }],
    transform: sealed?.transform ?? { kind: hasFrames ? "zstd" : "none" },
    files: sealed?.files ?? files,
  };
}

/** Returns the sealed part of the manifest: always the same for the same capture, so that a commit can be repeated. */
function sealManifest(
  { id, run, step, place, attributes, files: captured }: Capture,
  { files, seal, zstd }: { files: Manifest["files"]; seal: Seal; zstd: boolean },
): Pick<Manifest, "files" | "transform"> {
  const { keyId, key, wrapped, hideNames } = seal;
  const shown = hideNames ? files.map((file) => ({ ...file, path: hiddenPathOf(key, file.path) })) : files;
  const paths = hideNames ? captured.map(({ path }) => path) : null;
  const inside = sealInside(
    key,
    {
      paths,
      sums: seal.files.map(({ sums }) => sums),
      ...(hideNames && place !== undefined && { place }),
      ...(hideNames && attributes !== undefined && { attributes }),
    },
    boundOf({ id, run, step, files: shown }),
  );
  return { files: shown, transform: { kind: "sealed", scheme: 1, keyId, wrapped, inside, hideNames, zstd } };
}

/** Commits a checkpoint; the answer makes it safe. Faults: EPOCH_OVER, HUB_UNREACHABLE, the hub's verdict on the objects. */
export const commit = (hub: Hub, manifest: Manifest): Promise<{ sha256: string }> =>
  hub.ask("commit", (client, signal) => client.node.commit.mutate({ manifest }, { signal }));

/** Removes what an ended upload leaves: local files, and (best effort) unfinished uploads in the bucket. */
export async function clearUpload(
  engine: Engine | null,
  about: { capture: Capture; journals: string; signal: AbortSignal },
): Promise<void> {
  const path = journalOf(about.journals, about.capture);
  if (engine !== null && about.capture.state !== "done" && !about.signal.aborted) {
    const journal = await openSendJournal(path);
    for (const { key, uploadId } of journal.unfinished()) {
      await abandonUpload(engine, { key, uploadId, signal: about.signal }).catch(() => undefined);
    }
    await journal.close();
  }
  await removeOwned("journal", path);
  await removeOwned("capture", about.capture.folder);
}
