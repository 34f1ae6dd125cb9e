import { dirname } from "node:path";
import { Fault, type FaultData } from "#protocol/faults/fault.ts";
import { mayMove, type MoveBy, type TransferState } from "#protocol/wire/transfer.ts";
import { MOST_WOBBLE_MS } from "../base/file-times.ts";
import { openJournal, readJournal } from "../base/journal.ts";
import type { Capture } from "./capture.ts";
import { fingerprintWithoutLabels, looseFingerprint, type Look, type LooseFingerprint } from "./detection/look.ts";
import { apply, emptyBooks, ledgerLine, linesOf, type Books, type Line, type SafePoint } from "./ledger-books.ts";

/**
 * The queue of captures, on disk before anybody is told. A capture stays in it until its end was handed to the outbox,
 * so a kill at any instant loses neither a capture nor the news of its end. Every move goes through the table in
 * protocol/wire/transfer.ts.
 */
/** Behind a path: what is known of its files without labels. */
const UNLABELED = "#unlabeled";

/** Behind a path: the names and the newest time of its files, where its disk may tell other times after a restart. */
const LOOSE = "#loose";

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
  /** The same of a set of files, also once its labels have gone to the next step. */
  rememberSet(path: string, look: Pick<Look, "files" | "fingerprint" | "newestMs">): Promise<void>;
  /** At the first look of this process: remembers what is known but for times that only its disk changed (see `file-times`). */
  recall(path: string, look: Pick<Look, "files" | "fingerprint" | "newestMs">): Promise<void>;
  /**
   * The checkpoint as which exactly this content of this path came to be in the bucket: its capture became safe, or it was
   * restored from there. Whether it is still there only the hub can say. Null: it was never there, or an older worker noted it.
   */
  storedAs(path: string, fingerprint: string): string | null;
  noteStored(path: string, content: { fingerprint: string; checkpointId: string }): Promise<void>;
  /** A restore of this worker put it there: its name is ours, and tells nothing of what the program calls its checkpoints. */
  isRestored(path: string): boolean;
  noteRestored(path: string): Promise<void>;
  /** The epoch in which this node wrote the run last; null when it never did. */
  writerEpoch(run: string): number | null;
  noteEpoch(run: string, epoch: number): Promise<void>;
  /** The epoch for which what a person left behind (`--from`) was moved out of the way here; null: none. */
  chosenEpoch(run: string): number | null;
  noteChosen(run: string, epoch: number): Promise<void>;
  safe(run: string): SafePoint | null;
  /** A checkpoint that is safe without having been captured here: it was restored from the bucket. */
  noteSafe(run: string, point: SafePoint): Promise<void>;
  /** Nothing of the line that the run is on now is safe: it was started from its beginning. */
  forgetSafe(run: string): Promise<void>;
  /** First time this folder saw the run, epoch ms. */
  runStartedAt(run: string): Promise<number>;
  intervalMs(run: string): number | null;
  close(): Promise<void>;
}

const looseText = ({ names, newestMs }: LooseFingerprint): string => `${names} ${newestMs}`;

interface Change {
  by: MoveBy;
  at: number;
  fault?: FaultData;
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
  const journal = await openWith(path, ledgerLine);
  const books = emptyBooks();
  for (const record of journal.takeRecords()) apply(books, record);
  for (const item of books.captures.values()) if (item.state === "running") item.state = "waiting";
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
    rememberSet: async (path, look) => {
      const own = fingerprintWithoutLabels(look);
      if (own !== null && books.known.get(path + UNLABELED) !== own)
        await write({ t: "known", path: path + UNLABELED, fingerprint: own });
      const loose = looseFingerprint(look);
      recalled.add(path);
      if (loose !== null) await write({ t: "known", path: path + LOOSE, fingerprint: looseText(loose) });
    },
    recall: async (path, look) => {
      // Once: what is written again while this process runs is another checkpoint, however soon.
      if (recalled.has(path)) return;
      recalled.add(path);
      const known = books.known.get(path + LOOSE);
      const loose = known === undefined || books.known.get(path) === look.fingerprint ? null : looseFingerprint(look);
      if (loose === null) return;
      const [names, newestMs] = known?.split(" ") ?? [];
      if (names !== loose.names || Math.abs(Number(newestMs) - loose.newestMs) > MOST_WOBBLE_MS) return;
      await write({ t: "known", path, fingerprint: look.fingerprint });
    },
    knows: (known, fingerprint) =>
      books.known.get(known) === fingerprint || books.known.get(known + UNLABELED) === fingerprint,
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
    writerEpoch: (run) => books.epochs.get(run) ?? null,
    noteEpoch: async (run, epoch) => {
      if (books.epochs.get(run) !== epoch) await write({ t: "epoch", run, epoch });
    },
    chosenEpoch: (run) => books.chosen.get(run) ?? null,
    noteChosen: (run, epoch) => write({ t: "chosen", run, epoch }),
    safe: (run) => books.safe.get(run) ?? null,
    forgetSafe: async (run) => {
      if (books.safe.has(run)) await write({ t: "forget-safe", run });
    },
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

/**
 * Creates what applies a record to the books and writes it. A record that could not be written stays in the books, and is
 * written together with the next one. Faults: NO_SPACE, WRITE_FAILED.
 */
function createWriter(books: Books, journal: { append(record: Line): Promise<void> }): (record: Line) => Promise<void> {
  let owed: Line[] = [];
  return async (record) => {
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
}

/**
 * Returns the captures of a ledger that no worker holds, as they were left, and the folders in which checkpoints were seen.
 * Faults: READ_FAILED.
 */
export async function readLedger(
  path: string,
): Promise<{ captures: readonly Capture[]; folders: ReadonlySet<string>; safe: ReadonlyMap<string, SafePoint> }> {
  const books = emptyBooks();
  for (const record of await readJournal(path, ledgerLine)) apply(books, record);
  const paths = [...books.known.keys(), ...[...books.captures.values()].map(({ sourcePath }) => sourcePath)];
  const folders = new Set(paths.map((known) => dirname(known)));
  return { captures: [...books.captures.values()], folders, safe: books.safe };
}

/**
 * Latest wins: of the waiting captures of a run, all but the newest may be passed over. One that is running is never in
 * this list, neither is a single waiting one, nor the one that was under way last and was interrupted: where that comes
 * more often than an upload takes, nothing would become safe otherwise.
 */
export function supersededBy(captures: readonly Capture[]): Capture[] {
  const waiting = captures.filter(({ state }) => state === "waiting");
  const newest = newestOfLines(waiting);
  const underWay = newestOfLines(waiting.filter(({ startedAt }) => startedAt !== null));
  return waiting.filter((item) => newest.get(lineOf(item)) !== item && underWay.get(lineOf(item)) !== item);
}

/** What waits of the run of one that is safe now, and is older: it was interrupted for it, and makes nothing safer. */
export const overtakenBy = (safe: Capture, captures: readonly Capture[]): Capture[] =>
  captures.filter((item) => item.state === "waiting" && isOfOneLine(item, safe) && isNewer(safe, item));

/** Returns whether one of them may take the place of the other: a final model and a checkpoint never do. */
export const isOfOneLine = (a: OfLine, b: OfLine): boolean => lineOf(a) === lineOf(b);

/** What may not be whole takes no place of what is. */
type OfLine = Pick<Capture, "run" | "role" | "doubt">;
const lineOf = ({ run, role, doubt }: OfLine): string =>
  `${run} ${role ?? ""}${doubt === undefined ? "" : " doubtful"}`;

function newestOfLines(captures: readonly Capture[]): Map<string, Capture> {
  const newest = new Map<string, Capture>();
  for (const item of captures) {
    const other = newest.get(lineOf(item));
    if (other === undefined || isNewer(item, other)) newest.set(lineOf(item), item);
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
