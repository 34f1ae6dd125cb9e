import { stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import { basename, join, sep } from "node:path";
import * as z from "zod";
import { faultData } from "#protocol/faults/fault-data.ts";
import { isPointerName, shownPlace, stepSource, type ShownPlace } from "#protocol/checkpoint/place.ts";
import { lineBranch, type LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { transferState } from "#protocol/wire/transfer.ts";
import { capture, type Capture } from "./capture.ts";
import { noteReached, reachedOf, type ReachedStep } from "./reached-steps.ts";
import {
  forgetDoubted,
  isNewerPoint,
  notePiece,
  noteSafe,
  pointOf,
  type KeptPiece,
  type SafePoint,
} from "./safe-points.ts";

/** Records of the ledger's journal, and the state that they add up to. Pure. */

export const ledgerLine = z.discriminatedUnion("t", [
  z.object({
    t: z.literal("capture"),
    capture,
    /** Present when the capture is new. In one line, so that no kill leaves it remembered and not in the queue. */
    taken: z
      .object({
        fingerprint: z.string(),
        startedAt: z.number(),
        /** Nothing showed that its program had finished it. */
        isUnfinished: z.literal(true).optional(),
      })
      .optional(),
  }),
  z.object({ t: z.literal("move"), id: z.string(), to: transferState, at: z.number(), fault: faultData.nullable() }),
  z.object({
    t: z.literal("update"),
    id: z.string(),
    change: capture
      .pick({
        attempt: true,
        epoch: true,
        newLine: true,
        announced: true,
        home: true,
        retries: true,
        sentBytes: true,
        measured: true,
        priority: true,
        open: true,
        replacedBy: true,
        doubt: true,
      })
      .partial(),
  }),
  /** `branch`: the epoch is a new line of training. */
  z.object({ t: z.literal("epoch"), run: z.string(), epoch: z.number(), branch: lineBranch.optional() }),
  z.object({ t: z.literal("chosen"), run: z.string(), epoch: z.number() }),
  z.object({ t: z.literal("hold"), run: z.string(), isHeld: z.boolean() }),
  z.object({ t: z.literal("rank"), run: z.string(), priority: z.number() }),
  z.object({ t: z.literal("drop"), id: z.string() }),
  z.object({
    t: z.literal("known"),
    path: z.string(),
    fingerprint: z.string(),
    isUnfinished: z.literal(true).optional(),
  }),
  z.object({ t: z.literal("restored"), path: z.string() }),
  z.object({ t: z.literal("forget-safe"), run: z.string() }),
  /** A committed checkpoint turned out to lack files; `isTold`: its hub or bucket has the report. */
  z.object({
    t: z.literal("doubted"),
    run: z.string(),
    checkpointId: z.string(),
    why: z.string(),
    isTold: z.literal(true).optional(),
  }),
  /** Highest step of an epoch; otherwise it follows from the captures. */
  z.object({
    t: z.literal("reached"),
    run: z.string(),
    root: z.number(),
    step: z.number(),
    at: z.number(),
    epoch: z.number(),
    source: stepSource.optional(),
  }),
  z.object({
    t: z.literal("piece"),
    run: z.string(),
    step: z.number(),
    at: z.number(),
    sizeBytes: z.number(),
    epoch: z.number().nullable(),
    files: z.number(),
    source: stepSource.optional(),
    place: shownPlace.optional(),
  }),
  z.object({
    t: z.literal("stored"),
    path: z.string(),
    fingerprint: z.string(),
    /** Checkpoint that holds this content there; null where an older worker noted it. */
    checkpointId: z.string().nullable().default(null),
  }),
  z.object({
    t: z.literal("safe"),
    run: z.string(),
    step: z.number(),
    at: z.number(),
    sizeBytes: z.number(),
    epoch: z.number().nullable().default(null),
    checkpointId: z.string().optional(),
    source: stepSource.optional(),
    place: shownPlace.optional(),
  }),
  z.object({
    t: z.literal("run"),
    run: z.string(),
    startedAt: z.number(),
    lastAt: z.number().nullable(),
    intervalMs: z.number().nullable(),
  }),
]);
export type Line = z.infer<typeof ledgerLine>;

/** Content of a path that is in the bucket, and the checkpoint that holds it there; null where an older worker noted it. */
interface StoredContent {
  fingerprint: string;
  checkpointId: string | null;
}

export interface Books {
  captures: Map<string, Capture>;
  known: Map<string, string>;
  /** Paths whose known content nothing showed to be finished. */
  unfinished: Set<string>;
  /** Content in the bucket, by path. */
  stored: Map<string, StoredContent>;
  /** Paths that a restore of this worker made and that the program has not written since. */
  restored: Set<string>;
  safe: Map<string, SafePoint>;
  /** The safe point before each of `safe`, which counts again when that one turns out to be half. */
  safeBefore: Map<string, SafePoint>;
  /** Doubts about committed checkpoints that are not reported yet, by the id of the checkpoint. */
  owedDoubts: Map<string, string>;
  /** Highest steps, by the keys of `reached-steps`. */
  reached: Map<string, ReachedStep>;
  pieces: Map<string, KeptPiece>;
  held: Set<string>;
  ranks: Map<string, number>;
  /** Epoch in which each run was last written here. */
  epochs: Map<string, number>;
  /** Where the line of that epoch branches off, for runs whose epoch is a new line. */
  branches: Map<string, LineBranch>;
  chosen: Map<string, number>;
  runs: Map<string, { startedAt: number; lastAt: number | null; intervalMs: number | null }>;
}

export const emptyBooks = (): Books => ({
  captures: new Map(),
  known: new Map(),
  unfinished: new Set(),
  stored: new Map(),
  restored: new Set(),
  safe: new Map(),
  safeBefore: new Map(),
  owedDoubts: new Map(),
  reached: new Map(),
  pieces: new Map(),
  held: new Set(),
  ranks: new Map(),
  epochs: new Map(),
  branches: new Map(),
  chosen: new Map(),
  runs: new Map(),
});

export function apply(books: Books, record: Line): void {
  switch (record.t) {
    case "capture":
      books.captures.set(record.capture.id, { ...record.capture });
      if (record.taken !== undefined) applyTaken(books, record.capture, record.taken);
      return;
    case "move":
      applyMove(books, record);
      return;
    case "update": {
      const item = books.captures.get(record.id);
      if (item === undefined) return;
      Object.assign(item, record.change);
      if (record.change.doubt !== undefined && isLastOf(books, item)) books.unfinished.add(item.sourcePath);
      if (record.change.epoch !== undefined) noteReached(books, reachedOf(item));
      return;
    }
    case "epoch":
      books.epochs.set(record.run, record.epoch);
      // Captured before the hub could be asked.
      for (const item of books.captures.values())
        if (item.run === record.run && item.epoch === null && item.newLine == null) {
          item.epoch = record.epoch;
          noteReached(books, reachedOf(item));
        }
      if (record.branch === undefined) books.branches.delete(record.run);
      else books.branches.set(record.run, record.branch);
      return;
    case "chosen":
      books.chosen.set(record.run, record.epoch);
      return;
    case "hold":
      if (record.isHeld) books.held.add(record.run);
      else books.held.delete(record.run);
      return;
    case "rank": {
      const change = record.priority - (books.ranks.get(record.run) ?? 0);
      if (record.priority === 0) books.ranks.delete(record.run);
      else books.ranks.set(record.run, record.priority);
      for (const item of books.captures.values()) if (item.run === record.run) item.priority += change;
      return;
    }
    case "drop":
      books.captures.delete(record.id);
      return;
    case "known":
      noteKnown(books, record.path, record);
      return;
    case "restored":
      books.restored.add(record.path);
      return;
    case "forget-safe":
      books.safe.delete(record.run);
      books.safeBefore.delete(record.run);
      books.pieces.delete(record.run);
      return;
    case "doubted":
      if (record.isTold === true) books.owedDoubts.delete(record.checkpointId);
      else {
        books.owedDoubts.set(record.checkpointId, record.why);
        forgetDoubted(books, record);
      }
      return;
    case "reached":
      noteReached(books, record);
      return;
    case "piece": {
      const { run, ...piece } = record;
      notePiece(books, run, { ...pointOf(piece), files: piece.files });
      return;
    }
    case "stored":
      books.stored.set(record.path, { fingerprint: record.fingerprint, checkpointId: record.checkpointId });
      return;
    case "safe":
      noteSafe(books, record.run, pointOf(record));
      return;
    case "run":
      books.runs.set(record.run, { startedAt: record.startedAt, lastAt: record.lastAt, intervalMs: record.intervalMs });
  }
}

/** Returns whether no later capture has the same path, so that the path still has this content. */
const isLastOf = ({ captures }: Books, { id, sourcePath }: Capture): boolean =>
  [...captures.values()].findLast((item) => item.sourcePath === sourcePath)?.id === id;

interface KnownContent {
  fingerprint: string;
  isUnfinished?: true | undefined;
}

function noteKnown(books: Books, path: string, { fingerprint, isUnfinished }: KnownContent): void {
  books.known.set(path, fingerprint);
  if (isUnfinished === true) books.unfinished.add(path);
  else books.unfinished.delete(path);
}

function applyTaken(books: Books, item: Capture, taken: KnownContent & { startedAt: number }): void {
  noteKnown(books, item.sourcePath, taken);
  // The program itself has written under that name now.
  books.restored.delete(item.sourcePath);
  if (item.role !== undefined) return;
  noteReached(books, reachedOf(item));
  const run = books.runs.get(item.run);
  const lastAt = run?.lastAt ?? null;
  const gap = lastAt === null ? null : item.capturedAt - lastAt;
  const intervalMs = gap !== null && gap > 0 ? gap : (run?.intervalMs ?? null);
  books.runs.set(item.run, { startedAt: run?.startedAt ?? taken.startedAt, lastAt: item.capturedAt, intervalMs });
}

function applyMove(books: Books, record: Extract<Line, { t: "move" }>): void {
  const item = books.captures.get(record.id);
  if (item === undefined) return;
  item.state = record.to;
  item.fault = record.fault;
  if (record.to === "running") item.startedAt ??= record.at;
  if (record.to !== "done") return;
  // A doubtful capture may lack a name, so it does not show that everything is stored.
  if (item.fingerprint !== undefined && item.role === undefined && item.doubt === undefined)
    books.stored.set(item.sourcePath, { fingerprint: item.fingerprint, checkpointId: item.id });
  for (const [path, fingerprint] of pointersOf(item)) books.stored.set(path, { fingerprint, checkpointId: item.id });
  // Nothing resumes from a final model, and nothing resumes by itself from a doubtful checkpoint.
  if (item.role !== undefined || item.doubt !== undefined) return;
  const before = books.safe.get(item.run);
  const point = pointOf({
    ...item,
    at: item.capturedAt,
    checkpointId: item.id,
    source: stepSourceOf(item.place),
    place: placeOfCapture(item),
  });
  // A piece alone is no checkpoint: only the hub knows when the pieces of the other nodes are there.
  if (item.piece !== undefined) {
    notePiece(books, item.run, { ...point, files: item.files.length });
    return;
  }
  if (before === undefined || isNewerPoint(point, before)) noteSafe(books, item.run, point);
}

/** Returns the pointers that were captured with a checkpoint, by the paths where they lay, with their content. */
function pointersOf({ place, sourcePath, files }: Capture): [path: string, content: string][] {
  if (place?.beside === undefined) return [];
  const below = sep + place.path.replaceAll("/", sep);
  if (!sourcePath.endsWith(below)) return [];
  const root = sourcePath.slice(0, -below.length);
  return place.beside.flatMap((entry) => {
    if (!("file" in entry) || !isPointerName(basename(entry.path))) return [];
    const { sizeBytes, sums } = files.find(({ path }) => path === entry.file) ?? { sizeBytes: 0, sums: [] };
    const [crc32, ...more] = sums;
    if (crc32 === undefined || more.length > 0) return [];
    return [[join(root, entry.path), contentOf(crc32, sizeBytes)]];
  });
}

/** Returns the mark of a small file that is known by its bytes alone: a pointer is rewritten with each checkpoint. */
export const contentOf = (crc32: string, sizeBytes: number): string => `crc32 ${crc32} ${sizeBytes}`;

const placeOfCapture = ({ place }: Capture): ShownPlace | undefined =>
  place === undefined ? undefined : shownPlace.parse(place);

/** Returns the smallest journal with the same meaning. */
export function linesOf(books: Books): Line[] {
  return [
    ...[...books.known].map(([path, fingerprint]): Line => ({
      t: "known",
      path,
      fingerprint,
      ...(books.unfinished.has(path) && { isUnfinished: true }),
    })),
    ...[...books.stored].map(([path, content]): Line => ({ t: "stored", path, ...content })),
    ...[...books.restored].map((path): Line => ({ t: "restored", path })),
    ...[...books.runs].map(([run, rest]): Line => ({ t: "run", run, ...rest })),
    ...[...books.epochs].map(([run, epoch]): Line => {
      const branch = books.branches.get(run);
      return { t: "epoch", run, epoch, ...(branch !== undefined && { branch }) };
    }),
    ...[...books.chosen].map(([run, epoch]): Line => ({ t: "chosen", run, epoch })),
    ...[...books.held].map((run): Line => ({ t: "hold", run, isHeld: true })),
    ...[...books.ranks].map(([run, priority]): Line => ({ t: "rank", run, priority })),
    ...[...books.safeBefore].map(([run, rest]): Line => ({ t: "safe", run, ...rest })),
    ...[...books.safe].map(([run, rest]): Line => ({ t: "safe", run, ...rest })),
    ...[...books.owedDoubts].map(([checkpointId, why]): Line => ({ t: "doubted", run: "", checkpointId, why })),
    ...[...books.reached.values()].map((one): Line => ({ t: "reached", ...one })),
    ...[...books.pieces].map(([run, rest]): Line => ({ t: "piece", run, ...rest })),
    ...[...books.captures.values()].map((item): Line => ({ t: "capture", capture: item })),
  ];
}
