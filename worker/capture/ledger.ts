import { dirname } from "node:path";
import { Fault, type FaultData } from "#protocol/faults/fault.ts";
import { mayMove, type MoveBy, type TransferState } from "#protocol/wire/transfer.ts";
import { MOST_WOBBLE_MS } from "../base/file-times.ts";
import type { WatchedRoot } from "#protocol/checkpoint/place.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { openJournal, readJournal } from "../base/journal.ts";
import type { Capture } from "./capture.ts";
import { fingerprintWithoutLabels, looseFingerprint, type Look, type LooseFingerprint } from "./detection/look.ts";
import { apply, emptyBooks, ledgerLine, linesOf, type Books, type Line } from "./ledger-books.ts";
import { noteReached, reachedIn, reachedOf, type ReachedStep } from "./reached-steps.ts";
import { openPieceOf, type KeptPiece, type SafePoint } from "./safe-points.ts";

/** Suffix of a path for the fingerprint of its files without labels. */
const UNLABELED = "#unlabeled";

/** Suffix of a path for names and newest time of its files, on disks that may report other times after a restart. */
const LOOSE = "#loose";

/** Stands for all runs in place of a run's name. */
export const EVERY_RUN = "*";

/**
 * The queue of captures, on disk before anybody is told of them. A capture stays in it until its end is in the outbox, so a
 * kill at any instant loses neither the capture nor its end. Every move goes through the table in protocol/wire/transfer.ts.
 */
export interface Ledger {
  /** Adds a capture. `isUnfinished`: nothing shows that its program had finished it. */
  add(capture: Capture, fingerprint: string, isUnfinished?: boolean): Promise<void>;
  /**
   * Moves a capture to another state. On a full disk the move counts in memory and is written with the next record. A kill
   * before that repeats the work that led to it, which changes nothing. The same holds for `drop`.
   * @throws Fault INTERNAL when the move is not in the table
   */
  move(id: string, to: TransferState, change: Change): Promise<void>;
  update(
    id: string,
    change: Partial<
      Pick<
        Capture,
        | "attempt"
        | "epoch"
        | "newLine"
        | "announced"
        | "home"
        | "retries"
        | "sentBytes"
        | "measured"
        | "priority"
        | "open"
        | "replacedBy"
        | "doubt"
      >
    >,
  ): Promise<void>;
  /** Holds or frees the uploads of a run, or of all runs (`EVERY_RUN`). While held, later captures wait too. */
  hold(run: string, isHeld: boolean): Promise<void>;
  isHeld(run: string): boolean;
  /** Returns the priority of what waits and of what is captured from now on: higher goes first. 0 unless it was set. */
  rank(run: string): number;
  setRank(run: string, priority: number): Promise<void>;
  /** Removes a capture whose end is in the outbox and whose files are gone. */
  drop(id: string): Promise<void>;
  all(): readonly Capture[];
  get(id: string): Capture | undefined;
  byTransfer(transferId: string): Capture | undefined;
  /** Remembers content that must not be captured: captured already, restored from the bucket, refused, or passed over. */
  remember(path: string, fingerprint: string, isUnfinished?: boolean): Promise<void>;
  knows(path: string, fingerprint: string): boolean;
  /** Returns whether the known content of a path was captured although nothing showed that it was finished. */
  isUnfinished(path: string): boolean;
  /** Remembers a set of files also for the time when its labels have gone to the next step. */
  rememberSet(path: string, look: Pick<Look, "files" | "fingerprint" | "newestMs">): Promise<void>;
  /** Remembers known content of which only the disk changed the times (see `file-times`), at the first look of this process. */
  recall(path: string, look: Pick<Look, "files" | "fingerprint" | "newestMs">): Promise<void>;
  /**
   * Returns the checkpoint that brought exactly this content of this path into the bucket, by a capture or before a restore.
   * Only the hub knows whether it is still there. Null: it never was, or an older worker noted it.
   */
  storedAs(path: string, fingerprint: string): string | null;
  noteStored(path: string, content: { fingerprint: string; checkpointId: string }): Promise<void>;
  /**
   * Returns whether a restore of this worker created the path. Such a name says nothing about how the program names
   * checkpoints.
   */
  isRestored(path: string): boolean;
  noteRestored(path: string): Promise<void>;
  /** Returns the epoch in which this node last wrote the run; null when it never did. */
  writerEpoch(run: string): number | null;
  /**
   * Notes the epoch of a run, also for its captures that have none yet. `branch`: where the epoch branches off, when it is a new line
   * of training.
   */
  noteEpoch(run: string, epoch: number, branch?: LineBranch): Promise<void>;
  /** Returns the epoch for which `--from` moved newer checkpoints on this disk aside; null: none. */
  chosenEpoch(run: string): number | null;
  noteChosen(run: string, epoch: number): Promise<void>;
  safe(run: string): SafePoint | null;
  /** Returns this node's newest piece of the present epoch whose step waits for the pieces of other nodes; null: none does. */
  piece(run: string): KeptPiece | null;
  /** Records a safe point that was not captured here but restored from the bucket. */
  noteSafe(run: string, point: SafePoint): Promise<void>;
  /** Forgets the safe point: training was started from its beginning, and nothing of its present line is safe. */
  forgetSafe(run: string): Promise<void>;
  /** Returns the highest steps that were captured in that epoch from that watched folder: counted, and by time of writing. */
  reached(of: Pick<ReachedStep, "run" | "root" | "epoch">): readonly ReachedStep[];
  /** Records that a committed checkpoint lacks files: it is no safe point any more, and its hub or bucket has to be told. */
  oweDoubt(about: { run: string; checkpointId: string; why: string }): Promise<void>;
  /** Doubts that are not told yet, with the reason, by the id of the checkpoint. */
  owedDoubts(): ReadonlyMap<string, string>;
  /** Records that a doubt was told, or will never be accepted. */
  settleDoubt(checkpointId: string): Promise<void>;
  /** Returns when this state folder first saw the run, epoch ms. */
  runStartedAt(run: string): Promise<number>;
  intervalMs(run: string): number | null;
  close(): Promise<void>;
}

const looseText = ({ names, newestMs }: LooseFingerprint): string => `${names} ${newestMs}`;

/** Returns whether a text of `looseText` stands for the same content, on a disk whose times are not exact. */
function isWithinWobble(text: string, loose: LooseFingerprint): boolean {
  const [names, newestMs] = text.split(" ");
  return names === loose.names && Math.abs(Number(newestMs) - loose.newestMs) <= MOST_WOBBLE_MS;
}

interface Change {
  by: MoveBy;
  at: number;
  fault?: FaultData;
}

/**
 * Opens the ledger. Captures that were running when the process died wait again. A capture whose epoch was not known belongs to
 * the epoch that this node had claimed last, and to no later one. `wallNow`: epoch ms. Faults: NO_SPACE, WRITE_FAILED,
 * READ_FAILED.
 */
export async function openLedger(
  path: string,
  wallNow: () => number,
  openWith: typeof openJournal = openJournal,
): Promise<Ledger> {
  const journal = await openWith(path, ledgerLine);
  const books = emptyBooks();
  for (const record of journal.takeRecords()) apply(books, record);
  for (const item of books.captures.values()) {
    if (item.state === "running") item.state = "waiting";
    if (item.newLine == null) item.epoch ??= books.epochs.get(item.run) ?? null;
    noteReached(books, reachedOf(item));
  }
  await journal.compact(() => linesOf(books));

  const write = createWriter(books, journal);
  const writeSometime = (record: Line) => write(record).catch(() => undefined);
  /** Paths that were looked at by this process. */
  const recalled = new Set<string>();
  const mustGet = (id: string): Capture => {
    const found = books.captures.get(id);
    if (found === undefined) throw new Fault("INTERNAL", { op: "ledger", detail: `no capture ${id}` });
    return found;
  };
  return {
    add: async (item, fingerprint, isUnfinished = false) => {
      const taken = { fingerprint, startedAt: wallNow(), ...(isUnfinished && { isUnfinished: true as const }) };
      const record: Line = { t: "capture", capture: item, taken };
      // On disk first: a capture that could not be written does not count, and a later look takes it again.
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
    remember: async (known, fingerprint, isUnfinished = false) => {
      if (books.known.get(known) === fingerprint) return;
      await write({ t: "known", path: known, fingerprint, ...(isUnfinished && { isUnfinished: true }) });
    },
    rememberSet: async (path, look) => {
      const own = fingerprintWithoutLabels(look);
      if (own !== null && books.known.get(path + UNLABELED) !== own)
        await write({ t: "known", path: path + UNLABELED, fingerprint: own });
      const loose = looseFingerprint(look);
      recalled.add(path);
      if (loose !== null) await write({ t: "known", path: path + LOOSE, fingerprint: looseText(loose) });
    },
    recall: async (path, look) => {
      // Once only: what is written again while this process runs is another checkpoint, however soon.
      if (recalled.has(path)) return;
      recalled.add(path);
      const known = books.known.get(path + LOOSE);
      const loose = known === undefined || books.known.get(path) === look.fingerprint ? null : looseFingerprint(look);
      if (loose === null) return;
      if (!isWithinWobble(known ?? "", loose)) return;
      const isUnfinished = books.unfinished.has(path) && { isUnfinished: true as const };
      await write({ t: "known", path, fingerprint: look.fingerprint, ...isUnfinished });
    },
    knows: (known, fingerprint) =>
      books.known.get(known) === fingerprint || books.known.get(known + UNLABELED) === fingerprint,
    isUnfinished: (path) => books.unfinished.has(path),
    storedAs: (path, fingerprint) => {
      const known = books.stored.get(path);
      return known?.fingerprint === fingerprint ? known.checkpointId : null;
    },
    noteStored: async (path, { fingerprint, checkpointId }) => {
      const known = books.stored.get(path);
      if (known?.fingerprint !== fingerprint || known.checkpointId !== checkpointId)
        await write({ t: "stored", path, fingerprint, checkpointId });
    },
    isRestored: (path) => books.restored.has(path),
    noteRestored: async (path) => {
      if (!books.restored.has(path)) await write({ t: "restored", path });
    },
    ...epochsOf(books, write),
    safe: (run) => books.safe.get(run) ?? null,
    piece: (run) => openPieceOf(books, run),
    forgetSafe: async (run) => {
      if (books.safe.has(run)) await write({ t: "forget-safe", run });
    },
    noteSafe: (run, point) => write({ t: "safe", run, ...point }),
    ...doubtsOf(books, write),
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

/** Returns the calls about the epochs of runs. */
function epochsOf(
  books: Books,
  write: (record: Line) => Promise<void>,
): Pick<Ledger, "writerEpoch" | "noteEpoch" | "chosenEpoch" | "noteChosen" | "reached"> {
  return {
    writerEpoch: (run) => books.epochs.get(run) ?? null,
    noteEpoch: async (run, epoch, branch) => {
      const hasUnknown = books.captures
        .values()
        .some((item) => item.run === run && item.epoch === null && item.newLine == null);
      if (books.epochs.get(run) !== epoch || hasUnknown)
        await write({ t: "epoch", run, epoch, ...(branch && { branch }) });
    },
    chosenEpoch: (run) => books.chosen.get(run) ?? null,
    noteChosen: (run, epoch) => write({ t: "chosen", run, epoch }),
    reached: (of) => reachedIn(books, of),
  };
}

/** Returns the calls about doubts that came after the commit. */
function doubtsOf(
  books: Books,
  write: (record: Line) => Promise<void>,
): Pick<Ledger, "oweDoubt" | "owedDoubts" | "settleDoubt"> {
  return {
    oweDoubt: async ({ run, checkpointId, why }) => {
      if (!books.owedDoubts.has(checkpointId)) await write({ t: "doubted", run, checkpointId, why });
    },
    owedDoubts: () => new Map(books.owedDoubts),
    settleDoubt: (checkpointId) => write({ t: "doubted", run: "", checkpointId, why: "", isTold: true }),
  };
}

/**
 * Returns a function that applies a record to the books and writes it. A record that could not be written stays in the books
 * and is written with the next one. Faults: NO_SPACE, WRITE_FAILED.
 */
function createWriter(books: Books, journal: { append(record: Line): Promise<void> }): (record: Line) => Promise<void> {
  let owed: Line[] = [];
  return async (record) => {
    apply(books, record);
    const lines = [...owed, record];
    owed = [];
    try {
      // Appended together they share one write, so that all of them are on disk or none.
      await Promise.all(lines.map(journal.append));
    } catch (error) {
      owed = [...lines, ...owed];
      throw error;
    }
  };
}

/** Content of the ledger of a worker that has ended. */
export interface LeftLedger {
  captures: readonly Capture[];
  /** Folders in which checkpoints were seen. */
  folders: ReadonlySet<string>;
  safe: ReadonlyMap<string, SafePoint>;
  /** All runs that it has seen. */
  runs: ReadonlySet<string>;
  /** Where the line of the last epoch branches off, for runs whose epoch is a new line. */
  branches: ReadonlyMap<string, LineBranch>;
}

/**
 * Returns the captures of a ledger that no worker holds, as they were left, and the folders in which checkpoints were seen.
 * Faults: READ_FAILED.
 */
export async function readLedger(path: string): Promise<LeftLedger> {
  const books = emptyBooks();
  for (const record of await readJournal(path, ledgerLine)) apply(books, record);
  const paths = [...books.known.keys(), ...[...books.captures.values()].map(({ sourcePath }) => sourcePath)];
  const folders = new Set(paths.map((known) => dirname(known)));
  return {
    captures: [...books.captures.values()],
    folders,
    safe: books.safe,
    runs: new Set(books.runs.keys()),
    branches: books.branches,
  };
}

/**
 * Returns the captures that may be passed over, because latest wins: the waiting ones of a run but the newest. A running
 * capture and a single waiting one are never among them, nor is the last one that was interrupted under way. Otherwise nothing
 * would become safe when checkpoints come faster than uploads.
 */
export function supersededAmong(captures: readonly Capture[]): Capture[] {
  const waiting = captures.filter(({ state }) => state === "waiting");
  const newest = newestOfLines(waiting);
  const underWay = newestOfLines(waiting.filter(({ startedAt }) => startedAt !== null));
  return waiting.filter((item) => newest.get(lineOf(item)) !== item && underWay.get(lineOf(item)) !== item);
}

/** Returns older waiting captures of the run of one that is safe now: they make nothing safer any more. */
export const supersededBy = (safe: Capture, captures: readonly Capture[]): Capture[] =>
  captures.filter((item) => item.state === "waiting" && isOfOneLine(item, safe) && isNewer(safe, item));

/** Returns whether one of them may take the place of the other: a final model and a checkpoint never do. */
export const isOfOneLine = (a: OfLine, b: OfLine): boolean => lineOf(a) === lineOf(b);

/**
 * A capture replaces only one of the same run, role, watched folder and epoch, and a doubtful capture never replaces a complete
 * one. So the last checkpoint before a new line of training stays. `root`: the watched folder of a capture that is not taken yet.
 */
type OfLine = Pick<Capture, "run" | "role" | "doubt" | "epoch" | "newLine"> & {
  place?: Capture["place"];
  root?: WatchedRoot | undefined;
};
const lineOf = ({ run, role, doubt, epoch, newLine, place, root = place?.root }: OfLine): string =>
  `${run} ${role ?? ""}${doubt === undefined ? "" : " doubtful"}${root === undefined ? "" : ` in ${root.index}`} ${epoch ?? ""} ${newLine?.id ?? ""}`;
/** Returns whether two captures belong to the same line that the hub was not asked to open yet, or both to none. */
export const isOfOneUnopened = (a: Capture["newLine"], b: Capture["newLine"]): boolean => a?.id === b?.id;

function newestOfLines(captures: readonly Capture[]): Map<string, Capture> {
  const newest = new Map<string, Capture>();
  for (const item of captures) {
    const other = newest.get(lineOf(item));
    if (other === undefined || isNewer(item, other)) newest.set(lineOf(item), item);
  }
  return newest;
}

/** Returns whether one of two captures of a line is the newer one. */
const isNewer = (a: Capture, b: Capture): boolean =>
  a.step === b.step ? a.capturedAt > b.capturedAt : a.step > b.step;

/** Returns the bytes that are still to be sent, as far as earlier attempts tell. */
const leftBytes = ({ sizeBytes, sentBytes }: Capture): number => Math.max(0, sizeBytes - sentBytes);

const byAge = (a: Capture, b: Capture): number => a.capturedAt - b.capturedAt;
/** Compares two captures by the order of the queue. */
export const byRank = (a: Capture, b: Capture): number => b.priority - a.priority || byAge(a, b);

/**
 * Returns the capture to upload next: the oldest waiting one of the highest priority. When little time is left, it is the one
 * with the fewest bytes left, so that most of them become safe.
 */
export function nextToUpload(captures: readonly Capture[], order: "oldest" | "least left" = "oldest"): Capture | null {
  const waiting = captures.filter(({ state }) => state === "waiting");
  const byLeft = (a: Capture, b: Capture) => leftBytes(a) - leftBytes(b) || byAge(a, b);
  return waiting.sort(order === "oldest" ? byRank : byLeft)[0] ?? null;
}
