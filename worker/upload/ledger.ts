import * as z from "zod";
import { byNewest } from "#protocol/checkpoint.ts";
import { faultData } from "#protocol/fault-data.ts";
import { Fault, type FaultData } from "#protocol/fault.ts";
import { mayMove, transferState, type MoveBy, type TransferState } from "#protocol/transfer.ts";
import { openJournal, readJournal } from "../engine/journal.ts";
import { capture, type Capture } from "./capture.ts";

/**
 * The queue of captures, on disk before anybody is told. A capture stays in it until its end was handed to the outbox,
 * so a kill at any instant loses neither a capture nor the news of its end. Every move goes through the table in
 * protocol/transfer.ts.
 */
/** In place of a run's name: all of them. */
export const EVERY_RUN = "*";

export interface Ledger {
  add(capture: Capture, fingerprint: string): Promise<void>;
  /**
   * On a full disk it is made all the same, and written with what is written next: a kill before that repeats what led to
   * it, which changes nothing. So it is with `drop`.
   * @throws Fault INTERNAL when the move is not in the table
   */
  move(id: string, to: TransferState, change: Change): Promise<void>;
  update(
    id: string,
    change: Partial<
      Pick<Capture, "attempt" | "epoch" | "announced" | "home" | "retries" | "sentBytes" | "measured" | "priority">
    >,
  ): Promise<void>;
  /** A person holds the uploads of a run, or of all (`EVERY_RUN`): those that come later wait too, until they are let go. */
  hold(run: string, isHeld: boolean): Promise<void>;
  isHeld(run: string): boolean;
  /** Of what is captured from now on and what waits: the higher, the sooner. 0 unless it was set. */
  rank(run: string): number;
  setRank(run: string, priority: number): Promise<void>;
  /** Its end is in the outbox and its files are gone. */
  drop(id: string): Promise<void>;
  all(): readonly Capture[];
  get(id: string): Capture | undefined;
  byTransfer(transferId: string): Capture | undefined;
  /** Not to be captured (again): already taken, restored from the bucket, refused, or passed over for a newer one. */
  remember(path: string, fingerprint: string): Promise<void>;
  knows(path: string, fingerprint: string): boolean;
  /** Exactly this content of this path is in the bucket: its capture became safe, or it was restored from there. */
  isStored(path: string, fingerprint: string): boolean;
  noteStored(path: string, fingerprint: string): Promise<void>;
  /** The epoch in which this node wrote the run last; null when it never did. */
  writerEpoch(run: string): number | null;
  noteEpoch(run: string, epoch: number): Promise<void>;
  /** The epoch for which what a person left behind (`--from`) was moved out of the way here; null: none. */
  chosenEpoch(run: string): number | null;
  noteChosen(run: string, epoch: number): Promise<void>;
  safe(run: string): SafePoint | null;
  /** A checkpoint that is safe without having been captured here: it was restored from the bucket. */
  noteSafe(run: string, point: SafePoint): Promise<void>;
  /** First time this folder saw the run, epoch ms. */
  runStartedAt(run: string): Promise<number>;
  intervalMs(run: string): number | null;
  close(): Promise<void>;
}

interface SafePoint {
  step: number;
  at: number;
  sizeBytes: number;
  /** Writer epoch of the checkpoint; null where an older worker noted it. */
  epoch: number | null;
}

interface Change {
  by: MoveBy;
  at: number;
  fault?: FaultData;
}

const line = z.discriminatedUnion("t", [
  z.object({
    t: z.literal("capture"),
    capture,
    /** When it is new: one line, so that no kill can leave it known and not in the queue. */
    taken: z.object({ fingerprint: z.string(), startedAt: z.number() }).optional(),
  }),
  z.object({ t: z.literal("move"), id: z.string(), to: transferState, at: z.number(), fault: faultData.nullable() }),
  z.object({
    t: z.literal("update"),
    id: z.string(),
    change: capture
      .pick({
        attempt: true,
        epoch: true,
        announced: true,
        home: true,
        retries: true,
        sentBytes: true,
        measured: true,
        priority: true,
      })
      .partial(),
  }),
  z.object({ t: z.literal("epoch"), run: z.string(), epoch: z.number() }),
  z.object({ t: z.literal("chosen"), run: z.string(), epoch: z.number() }),
  z.object({ t: z.literal("hold"), run: z.string(), isHeld: z.boolean() }),
  z.object({ t: z.literal("rank"), run: z.string(), priority: z.number() }),
  z.object({ t: z.literal("drop"), id: z.string() }),
  z.object({ t: z.literal("known"), path: z.string(), fingerprint: z.string() }),
  z.object({ t: z.literal("stored"), path: z.string(), fingerprint: z.string() }),
  z.object({
    t: z.literal("safe"),
    run: z.string(),
    step: z.number(),
    at: z.number(),
    sizeBytes: z.number(),
    epoch: z.number().nullable().default(null),
  }),
  z.object({
    t: z.literal("run"),
    run: z.string(),
    startedAt: z.number(),
    lastAt: z.number().nullable(),
    intervalMs: z.number().nullable(),
  }),
]);
type Line = z.infer<typeof line>;

interface Books {
  captures: Map<string, Capture>;
  known: Map<string, string>;
  /** Fingerprint of what is in the bucket, by path. */
  stored: Map<string, string>;
  safe: Map<string, SafePoint>;
  held: Set<string>;
  ranks: Map<string, number>;
  /** In which each run was written here last. */
  epochs: Map<string, number>;
  chosen: Map<string, number>;
  runs: Map<string, { startedAt: number; lastAt: number | null; intervalMs: number | null }>;
}

/**
 * `wallNow`: epoch ms. Captures that were running when the process died wait again. Faults: NO_SPACE, WRITE_FAILED,
 * READ_FAILED.
 */
export async function openLedger(
  path: string,
  wallNow: () => number,
  openWith: typeof openJournal = openJournal,
): Promise<Ledger> {
  const journal = await openWith(path, line);
  const books = emptyBooks();
  for (const record of journal.takeRecords()) apply(books, record);
  for (const item of books.captures.values()) if (item.state === "running") item.state = "waiting";
  await journal.compact(() => linesOf(books));

  let owed: Line[] = [];
  const write = async (record: Line) => {
    apply(books, record);
    const lines = [...owed, record];
    owed = [];
    try {
      // Together: they share one write, so all of them are there or none.
      await Promise.all(lines.map(journal.append));
    } catch (error) {
      owed = [...lines, ...owed];
      throw error;
    }
  };
  const writeSometime = (record: Line) => write(record).catch(() => undefined);
  const mustGet = (id: string): Capture => {
    const found = books.captures.get(id);
    if (found === undefined) throw new Fault("INTERNAL", { op: "ledger", detail: `no capture ${id}` });
    return found;
  };
  return {
    add: async (item, fingerprint) => {
      const record: Line = { t: "capture", capture: item, taken: { fingerprint, startedAt: wallNow() } };
      // On disk first: one that could not be written was not taken, and is looked at again.
      await journal.append(record);
      apply(books, record);
    },
    move: async (id, to, { by, at, fault }) => {
      const { state } = mustGet(id);
      if (!mayMove(state, to, by)) {
        throw new Fault("INTERNAL", { op: "ledger", detail: `${by} may not move a transfer from ${state} to ${to}` });
      }
      await writeSometime({ t: "move", id, to, at, fault: fault ?? null });
    },
    update: async (id, change) => {
      mustGet(id);
      await write({ t: "update", id, change });
    },
    hold: async (run, isHeld) => {
      if (books.held.has(run) !== isHeld) await write({ t: "hold", run, isHeld });
    },
    isHeld: (run) => books.held.has(EVERY_RUN) || books.held.has(run),
    rank: (run) => books.ranks.get(run) ?? 0,
    setRank: async (run, priority) => {
      if ((books.ranks.get(run) ?? 0) === priority) return;
      await write({ t: "rank", run, priority });
    },
    drop: (id) => writeSometime({ t: "drop", id }),
    all: () => [...books.captures.values()],
    get: (id) => books.captures.get(id),
    byTransfer: (transferId) => books.captures.values().find((item) => item.transferId === transferId),
    remember: async (known, fingerprint) => {
      if (books.known.get(known) !== fingerprint) await write({ t: "known", path: known, fingerprint });
    },
    knows: (known, fingerprint) => books.known.get(known) === fingerprint,
    isStored: (path, fingerprint) => books.stored.get(path) === fingerprint,
    noteStored: async (path, fingerprint) => {
      if (books.stored.get(path) !== fingerprint) await write({ t: "stored", path, fingerprint });
    },
    writerEpoch: (run) => books.epochs.get(run) ?? null,
    noteEpoch: async (run, epoch) => {
      if (books.epochs.get(run) !== epoch) await write({ t: "epoch", run, epoch });
    },
    chosenEpoch: (run) => books.chosen.get(run) ?? null,
    noteChosen: (run, epoch) => write({ t: "chosen", run, epoch }),
    safe: (run) => books.safe.get(run) ?? null,
    noteSafe: (run, point) => write({ t: "safe", run, ...point }),
    runStartedAt: async (run) => {
      const known = books.runs.get(run);
      if (known !== undefined) return known.startedAt;
      const startedAt = wallNow();
      await write({ t: "run", run, startedAt, lastAt: null, intervalMs: null });
      return startedAt;
    },
    intervalMs: (run) => books.runs.get(run)?.intervalMs ?? null,
    close: journal.close,
  };
}

/** The captures of a ledger that no worker holds, as they were left. Faults: READ_FAILED. */
export async function readLedger(path: string): Promise<readonly Capture[]> {
  const books = emptyBooks();
  for (const record of await readJournal(path, line)) apply(books, record);
  return [...books.captures.values()];
}

const emptyBooks = (): Books => ({
  captures: new Map(),
  known: new Map(),
  stored: new Map(),
  safe: new Map(),
  held: new Set(),
  ranks: new Map(),
  epochs: new Map(),
  chosen: new Map(),
  runs: new Map(),
});

function apply(books: Books, record: Line): void {
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
      if (item !== undefined) Object.assign(item, record.change);
      return;
    }
    case "epoch":
      books.epochs.set(record.run, record.epoch);
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
      books.known.set(record.path, record.fingerprint);
      return;
    case "stored":
      books.stored.set(record.path, record.fingerprint);
      return;
    case "safe":
      books.safe.set(record.run, pointOf(record));
      return;
    case "run":
      books.runs.set(record.run, { startedAt: record.startedAt, lastAt: record.lastAt, intervalMs: record.intervalMs });
  }
}

function applyTaken(books: Books, item: Capture, taken: { fingerprint: string; startedAt: number }): void {
  books.known.set(item.sourcePath, taken.fingerprint);
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
  if (item.fingerprint !== undefined) books.stored.set(item.sourcePath, item.fingerprint);
  const before = books.safe.get(item.run);
  const point = pointOf({ ...item, at: item.capturedAt });
  if (before === undefined || isNewerPoint(point, before)) books.safe.set(item.run, point);
}

const pointOf = ({ step, at, sizeBytes, epoch }: SafePoint): SafePoint => ({ step, at, sizeBytes, epoch });

/** Returns whether `point` is as new as `other` by the rule of the hub: highest epoch, then highest step. */
function isNewerPoint(point: SafePoint, other: SafePoint): boolean {
  // Noted by an older worker: the time of writing decides where the step does not.
  if (point.epoch === null || other.epoch === null) return other.step <= point.step || other.at <= point.at;
  return byNewest(keyOf(point, point.epoch), keyOf(other, other.epoch)) <= 0;
}

const keyOf = ({ step }: SafePoint, writerEpoch: number) => ({ step, writerEpoch });

/** The smallest journal that says the same. */
function linesOf(books: Books): Line[] {
  return [
    ...[...books.known].map(([path, fingerprint]): Line => ({ t: "known", path, fingerprint })),
    ...[...books.stored].map(([path, fingerprint]): Line => ({ t: "stored", path, fingerprint })),
    ...[...books.runs].map(([run, rest]): Line => ({ t: "run", run, ...rest })),
    ...[...books.epochs].map(([run, epoch]): Line => ({ t: "epoch", run, epoch })),
    ...[...books.chosen].map(([run, epoch]): Line => ({ t: "chosen", run, epoch })),
    ...[...books.held].map((run): Line => ({ t: "hold", run, isHeld: true })),
    ...[...books.ranks].map(([run, priority]): Line => ({ t: "rank", run, priority })),
    ...[...books.safe].map(([run, rest]): Line => ({ t: "safe", run, ...rest })),
    ...[...books.captures.values()].map((item): Line => ({ t: "capture", capture: item })),
  ];
}

/**
 * Latest wins: of the waiting captures of a run, all but the newest may be passed over. One that is running is never in
 * this list, neither is a single waiting one, nor the one that was under way last and was interrupted: where that comes
 * more often than an upload takes, nothing would become safe otherwise.
 */
export function supersededBy(captures: readonly Capture[]): Capture[] {
  const waiting = captures.filter(({ state }) => state === "waiting");
  const newest = newestOfRuns(waiting);
  const underWay = newestOfRuns(waiting.filter(({ startedAt }) => startedAt !== null));
  return waiting.filter((item) => newest.get(item.run) !== item && underWay.get(item.run) !== item);
}

/** What waits of the run of one that is safe now, and is older: it was interrupted for it, and makes nothing safer. */
export const overtakenBy = (safe: Capture, captures: readonly Capture[]): Capture[] =>
  captures.filter((item) => item.state === "waiting" && item.run === safe.run && isNewer(safe, item));

function newestOfRuns(captures: readonly Capture[]): Map<string, Capture> {
  const newest = new Map<string, Capture>();
  for (const item of captures) {
    const other = newest.get(item.run);
    if (other === undefined || isNewer(item, other)) newest.set(item.run, item);
  }
  return newest;
}

const isNewer = (a: Capture, b: Capture): boolean =>
  (a.epoch ?? Infinity) - (b.epoch ?? Infinity) > 0 ||
  (a.step === b.step ? a.capturedAt > b.capturedAt : a.step > b.step);

/** What is still to be sent of it, as far as earlier tries tell. */
const leftBytes = ({ sizeBytes, sentBytes }: Capture): number => Math.max(0, sizeBytes - sentBytes);

const byAge = (a: Capture, b: Capture): number => a.capturedAt - b.capturedAt;
/** The order of the queue. */
export const byRank = (a: Capture, b: Capture): number => b.priority - a.priority || byAge(a, b);

/**
 * The one to upload next: of the highest priority the oldest that waits. When there is little time left, the one of which
 * least is missing: so most of them become safe.
 */
export function nextToUpload(captures: readonly Capture[], order: "oldest" | "least left" = "oldest"): Capture | null {
  const waiting = captures.filter(({ state }) => state === "waiting");
  const byLeft = (a: Capture, b: Capture) => leftBytes(a) - leftBytes(b) || byAge(a, b);
  return waiting.sort(order === "oldest" ? byRank : byLeft)[0] ?? null;
}
