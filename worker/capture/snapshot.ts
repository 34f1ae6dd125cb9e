import type { UnopenedLine } from "#protocol/checkpoint/line-branch.ts";
import { mkdir, open } from "node:fs/promises";
import { randomBytes, randomUUID } from "node:crypto";
import { dirname, join, relative } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import {
  attemptId,
  filePath,
  type AttemptId,
  findCollision,
  whyPathRefused,
  type RunName,
} from "#protocol/base/names.ts";
import { MAX_FILES } from "#protocol/checkpoint/checkpoint.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { Packing } from "#protocol/checkpoint/packing.ts";
import type { GroupMember } from "#protocol/checkpoint/pieces.ts";
import type { CheckpointPlace, WatchedRoot } from "#protocol/checkpoint/place.ts";
import { visibleStart, visibleText } from "#protocol/base/visible-text.ts";
import { attributesOf } from "#protocol/checkpoint/file-attributes.ts";
import { cutEvenly, planParts } from "#storage/s3/plan.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { readIdentity } from "../base/identity.ts";
import { sumSlice } from "../transfer/upload/read-part.ts";
import { readRoom } from "../base/room.ts";
import { assertAsLooked } from "./assert-as-looked.ts";
import { assignPacks, choosePacked } from "./assign-packs.ts";
import { findBeside, type BesideLeft } from "./detection/beside.ts";
import type { Capture, CapturedFile } from "./capture.ts";
import { describeCheckpoint } from "./detection/describe.ts";
import type { Candidate } from "./detection/find.ts";
import { lookAt, type Look, type LookedFile } from "./detection/look.ts";
import { findNeededByDcp } from "./detection/read-dcp-metadata.ts";
import { findSiblings } from "./detection/siblings.ts";
import { copyFault, linkingOf, secureBytes, type Linking } from "./secure-bytes.ts";
import { secureSmall } from "./secure-small.ts";

/**
 * Input of `takeSnapshot`, which secures a finished checkpoint before the program can rotate it away. Clones, links or
 * copies every file (see `secure-bytes`), then looks at the checkpoint again. If anything changed in between, it throws
 * the capture away (SOURCE_CHANGED), and a later look takes it.
 */
export interface SnapshotJob {
  candidate: Candidate;
  /** Watched folder that holds it; null or left out: none, so that it has no place to be restored to. */
  root?: string | null;
  /** Which of several watched folders of the run that is; null or left out: its only one. */
  watchedRoot?: WatchedRoot | null;
  /** Whether the hub keeps places, and files beside a checkpoint. Left out: it does not. */
  keepsPlace?: boolean;
  /** Called with the small files beside it, by their paths below the root, that are not kept. */
  onBesideLeft?(left: readonly BesideLeft[]): void;
  /** Rank of this node among several that write the run together; null or left out: one node writes it. */
  group?: GroupMember | null;
  look: Look;
  run: RunName;
  epoch: number | null;
  /** Line that it belongs to while the hub could not be asked to open it. */
  newLine?: UnopenedLine | null;
  /** Parent of all captures, in the state folder. */
  captures: string;
  traits: StoreTraits;
  partBytes: number | null;
  packing: Packing;
  startedBy: Capture["startedBy"];
  priority?: number;
  /** Epoch ms. */
  wallNow(): number;
}

/** Returns a new random part for the data keys of an upload, never used again. */
export const newAttempt = (): AttemptId => attemptId.parse(randomBytes(10).toString("hex"));

const COMFORT_BYTES = 64 * 1024 * 1024;
/** Securing a file takes several file system calls and moves few bytes, so several run side by side. */
const SECURED_AT_A_TIME = 8;

/**
 * Secures all files and returns the capture. Faults: SOURCE_CHANGED, HOSTILE_NAME, TOO_LARGE, NO_SPACE, READ_FAILED,
 * WRITE_FAILED.
 */
export async function takeSnapshot(job: SnapshotJob): Promise<Capture> {
  const { candidate, look, run } = job;
  assertNames(candidate, look);
  const id = randomUUID();
  const folder = join(job.captures, id);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const room = await readRoom(folder);
    const canCopy = room.freeBytes > look.sizeBytes * 1.05 + COMFORT_BYTES;
    const placed = await placeCandidate(job, join(folder, "beside"));
    const looked = [...look.files, ...placed.files];
    const packed = choosePacked(
      looked.map(({ relative, identity }) => ({ path: relative, sizeBytes: identity.sizeBytes })),
      job.packing,
    );
    const files: CapturedFile[] = [];
    const folders = new Set<string>();
    const linking = linkingOf(
      candidate,
      look.files.map(({ relative }) => relative),
    );
    await forEachOf([...looked.entries()], SECURED_AT_A_TIME, async ([index, file]) => {
      const isPacked = packed.has(file.relative);
      files[index] = await secure(job, { file, folder, folders, canCopy, linking, isPacked });
    });
    setPacks(files.filter(({ path }) => packed.has(path)));
    const attributes = attributesOf(
      looked.map(({ mode }) => mode),
      look.emptyFolders,
      look.folderModes,
    );
    const { framework, metrics } = await describeCheckpoint(look.files);
    const after = await lookAt(candidate);
    if (after?.fingerprint !== look.fingerprint) {
      throw new Fault("SOURCE_CHANGED", {
        op: "capture",
        subject: candidate.path,
        detail: "it changed while it was captured",
      });
    }
    return {
      id,
      transferId: randomUUID(),
      attempt: newAttempt(),
      run,
      step: candidate.step,
      ...(candidate.role !== undefined && { role: candidate.role }),
      ...doubtOf(candidate, look),
      ...(await pieceIn(job)),
      ...(attributes !== null && { attributes }),
      ...(placed.place !== null && { place: placed.place }),
      epoch: job.epoch,
      ...(job.newLine != null && { newLine: job.newLine }),
      framework,
      metrics,
      capturedAt: Math.round(Math.min(look.newestMs, job.wallNow())),
      sourcePath: candidate.path,
      fingerprint: look.fingerprint,
      folder,
      sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      files,
      state: "waiting",
      announced: false,
      priority: job.priority ?? 0,
      startedBy: job.startedBy,
      startedAt: null,
      retries: 0,
      sentBytes: 0,
      fault: null,
    };
  } catch (error) {
    await removeOwned("capture", folder);
    throw diskFault(error, { op: "capture", subject: candidate.path, otherwise: "WRITE_FAILED" });
  }
}

/** Returns this node's piece; none for a final model, which is complete by itself. */
async function pieceIn({ candidate, look, group }: SnapshotJob): Promise<Pick<Capture, "piece">> {
  if (group == null || candidate.role !== undefined) return {};
  const needs = await findNeededByDcp(look.files);
  return { piece: { ...group, ...(needs !== null && { needs }) } };
}

const MOST_DOUBT = 500;

/** Returns why the capture may be incomplete: what may be missing, and which names were left out. */
function doubtOf({ doubt }: Candidate, { leftOut }: Look): Pick<Capture, "doubt"> {
  const [first] = leftOut;
  const more = leftOut.length > 1 ? ` and ${leftOut.length - 1} more` : "";
  const names =
    first === undefined
      ? []
      : [`${visibleText(first.name)}${more} ${leftOut.length > 1 ? "are" : "is"} left out: ${first.why}`];
  const all = [...(doubt === undefined ? [] : [doubt]), ...names];
  return all.length === 0 ? {} : { doubt: visibleStart(all.join("; "), MOST_DOUBT) };
}

/** Returns the place in the watched folder, and the files beside it that are kept with it. */
async function placeCandidate(
  { candidate, root, watchedRoot = null, keepsPlace, onBesideLeft }: SnapshotJob,
  scratch: string,
): Promise<{ place: CheckpointPlace | null; files: LookedFile[] }> {
  const { path, kind, stepFrom, role } = candidate;
  const below = root == null || role !== undefined ? "" : relative(root, path);
  if (root == null || whyPathRefused(below) !== null) return { place: null, files: [] };
  const { entries, files, left } =
    keepsPlace === true ? await findBeside(root, candidate, scratch) : { entries: [], files: [], left: [] };
  if (left.length > 0) onBesideLeft?.(left);
  const siblings = await findSiblings(candidate);
  return {
    place: {
      ...(watchedRoot !== null && { root: watchedRoot }),
      path: filePath.parse(below),
      kind,
      ...((stepFrom === "inside" || stepFrom === "time") && { stepFrom }),
      stepSource: stepFrom ?? "name",
      ...(entries.length > 0 && { beside: entries }),
      ...(siblings.length > 0 && { siblings }),
    },
    files,
  };
}

function assertNames(candidate: Candidate, look: Look): void {
  if (look.files.length > MAX_FILES) {
    throw new Fault("TOO_LARGE", { op: "capture", subject: candidate.path, detail: `more than ${MAX_FILES} files` });
  }
  const collision = findCollision(look.files.map(({ relative }) => relative));
  if (collision !== null) {
    const detail = `it would land on the same file as ${collision[1]}`;
    throw new Fault("HOSTILE_NAME", { op: "capture", subject: collision[0], detail });
  }
}

function setPacks(packed: readonly CapturedFile[]): void {
  const numbers = assignPacks(packed.map(({ sizeBytes, frame }) => frame?.length ?? sizeBytes));
  for (const [index, file] of packed.entries()) {
    const pack = numbers[index];
    if (pack !== undefined) file.pack = pack;
  }
}

interface ToSecure {
  file: LookedFile;
  folder: string;
  /** Folders that exist already. */
  folders: Set<string>;
  canCopy: boolean;
  linking: Linking;
  isPacked: boolean;
}

async function secure(job: SnapshotJob, about: ToSecure): Promise<CapturedFile> {
  const { file, folder, folders, canCopy, linking, isPacked } = about;
  const at = join(folder, "files", file.relative);
  const parent = dirname(at);
  if (!folders.has(parent)) {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    folders.add(parent);
  }
  if (isPacked && canCopy) {
    const secured = await secureSmall(file, { at, zstd: job.packing.zstd }).catch((error: unknown) => {
      throw copyFault(error, file.path);
    });
    await assertAsLooked(file, secured);
    return secured;
  }
  await secureBytes(file.path, at, { canCopy, linking });
  const { sizeBytes } = file.identity;
  const { partBytes, parts } = isPacked
    ? // A file in a pack needs one sum only.
      { partBytes: sizeBytes, parts: cutEvenly(sizeBytes, sizeBytes) }
    : planParts({
        sizeBytes,
        traits: job.traits,
        ...(job.partBytes === null ? {} : { requestedPartBytes: job.partBytes }),
      });
  const sums: string[] = [];
  const md5s: string[] = [];
  const handle = await open(at, "r").catch((error: unknown) => {
    throw copyFault(error, file.path);
  });
  try {
    for (const { offset, length } of parts) {
      const { crc32, md5 } = await sumSlice({ fd: handle.fd, path: at, offset, length }, job.traits.checksum);
      sums.push(crc32);
      if (md5 !== undefined) md5s.push(md5);
    }
  } finally {
    await handle.close();
  }
  await assertAsLooked(file, { partBytes, sums });
  const identity = await readIdentity(at);
  return {
    path: filePath.parse(file.relative),
    sizeBytes,
    mtimeMs: file.mtimeMs,
    at,
    identity,
    partBytes,
    sums,
    ...(md5s.length > 0 && { md5s }),
  };
}
