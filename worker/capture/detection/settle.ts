import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { sep } from "node:path";
import { MOST_WOBBLE_MS } from "#worker/base/file-times.ts";
import type { Candidate } from "./find.ts";
import { folderOf, type Look } from "./look.ts";
import { readReadiness, type Readiness } from "./readiness.ts";

/**
 * Decides when a checkpoint is finished. When its own files say so, it is finished at the second equal look. When they say that
 * something is missing, it is not, however long it is quiet: its program may have been killed. Otherwise it must look the same
 * for the settle time and hold nothing temporary. Where /proc can be read, no process may have a file in it open for writing.
 */
export interface Settler {
  /** Returns whether the checkpoint is finished, judged by this look and those before it. */
  isSettled(candidate: Candidate, look: Look): Promise<boolean>;
  /** Returns what is missing in a checkpoint that was quiet for long enough to report it; null for all others. */
  whyUnfinished(path: string): string | null;
  /** Returns why a checkpoint that was quiet for `unfinishedAfterMs` may be incomplete; null for all others. */
  doubtOf(path: string): string | null;
  /** Forgets a checkpoint that is gone or was captured. */
  forget(path: string): void;
}

/** Factor of the settle time where much time may pass between two files (an optimizer gathered from many ranks). */
const LONGER = 15;
/** Quiet time after which an unfinished checkpoint is reported. */
const WORTH_SAYING_MS = 60_000;

export interface SettleOptions {
  settleMs: number;
  /** A checkpoint that looks unfinished but was quiet for this long is captured as doubtful. */
  unfinishedAfterMs: number;
  /** Milliseconds that only go up. */
  now(): number;
  /** Epoch ms, comparable with file times. */
  wallNow(): number;
  hasWriter(candidate: Candidate): Promise<boolean>;
}

interface Seen {
  fingerprint: string;
  since: number;
  temporary: string | null;
  /** Null until two looks were the same: files that are being written are not read. */
  readiness: Readiness | null;
  /** Whether a process has a file in it open for writing. */
  isHeld: boolean;
}

const whyOf = ({ temporary, readiness }: Pick<Seen, "temporary" | "readiness">): string | null => {
  if (temporary !== null) return `${temporary} looks temporary`;
  return readiness?.says === "unfinished" ? readiness.why : null;
};

export function createSettler(options: SettleOptions): Settler {
  const seen = new Map<string, Seen>();
  // Seen for the first time, but untouched for long: the program wrote it before the worker was started. On a disk of another
  // machine only our own clock tells how long.
  const isOld = ({ isRemote, touchedMs }: Look, waitMs: number): boolean =>
    !isRemote && options.wallNow() - touchedMs > Math.max(waitMs, 1000);
  const isDone = (readiness: Readiness, about: { look: Look; before: Seen | null }): boolean => {
    if (readiness.says === "unfinished") return false;
    if (readiness.says === "finished" && about.before !== null) return true;
    const waitMs = waitOf(readiness, options.settleMs) + wobbleMs(about.look);
    if (about.before !== null && options.now() - about.before.since >= waitMs) return true;
    return isOld(about.look, waitMs);
  };
  return {
    forget: (path) => void seen.delete(path),
    whyUnfinished: (path) => {
      const found = seen.get(path);
      if (found === undefined || options.now() - found.since < WORTH_SAYING_MS) return null;
      return whyOf(found);
    },
    doubtOf: (path) => {
      const found = seen.get(path);
      if (found === undefined || found.isHeld || options.now() - found.since < options.unfinishedAfterMs) return null;
      return whyOf(found);
    },
    isSettled: async (candidate, look) => {
      const { path } = candidate;
      const known = seen.get(path);
      const before = known?.fingerprint === look.fingerprint ? known : null;
      const fresh = { fingerprint: look.fingerprint, since: options.now(), readiness: null, isHeld: false };
      const now: Seen = { ...(before ?? fresh), temporary: look.temporary };
      seen.set(path, now);
      if (look.files.length === 0) return false;
      if (options.now() - now.since >= options.unfinishedAfterMs) now.isHeld = await options.hasWriter(candidate);
      if (look.temporary !== null) return false;
      if (before === null && !isOld(look, options.settleMs)) return false;
      // A tracker beside it may change although the checkpoint itself does not.
      if (now.readiness?.says !== "finished") now.readiness = await readReadiness(candidate, look);
      return isDone(now.readiness, { look, before }) && !(await options.hasWriter(candidate));
    },
  };
}

const waitOf = (readiness: Readiness, settleMs: number): number =>
  readiness.says === "unsaid" && readiness.isSlow ? settleMs * LONGER : settleMs;

/** Returns for how much longer a file may look unchanged while it is written, on a disk that wobbles. */
const wobbleMs = ({ wobbles }: Look): number => (wobbles ? MOST_WOBBLE_MS : 0);

/** A settler for looks at what is finished by now, while its program goes on. */
export interface SettlerByNow extends Settler {
  /** Returns the time until the next checkpoint that was quiet since its first look settles; 0 when there is none. */
  leftMs(): number;
}

/**
 * Creates a settler that takes a checkpoint at once when it says itself that it is finished. All others must be untouched for
 * the settle time, because the program may be between two files. Anything written after the first look is left for later.
 */
export function createSettlerByNow(options: Omit<SettleOptions, "now" | "unfinishedAfterMs">): SettlerByNow {
  const first = new Map<string, { fingerprint: string; at: number }>();
  const dueAt = new Map<string, number>();
  return {
    forget: () => undefined,
    whyUnfinished: () => null,
    doubtOf: () => null,
    leftMs: () => {
      const left = [...dueAt.values()].map((at) => at - options.wallNow()).filter((ms) => ms > 0);
      return left.length === 0 ? 0 : Math.min(...left);
    },
    isSettled: async (candidate, look) => {
      const { path } = candidate;
      const before = first.get(path) ?? { fingerprint: look.fingerprint, at: options.wallNow() };
      first.set(path, before);
      const isSame = before.fingerprint === look.fingerprint;
      dueAt.delete(path);
      if (look.files.length === 0 || look.temporary !== null) return false;
      const readiness = await readReadiness(candidate, look);
      if (readiness.says === "unfinished" || (await options.hasWriter(candidate))) return false;
      // Our own clock counts where we saw it: the clock of a disk may be ahead, and that of another machine behind.
      const seenAt = isSame ? before.at : options.wallNow();
      const touchedMs = look.isRemote ? seenAt : isSame ? Math.min(look.touchedMs, seenAt) : look.touchedMs;
      const quietAt = touchedMs + Math.max(waitOf(readiness, options.settleMs), 1000) + wobbleMs(look);
      if (readiness.says === "finished" || options.wallNow() >= quietAt) return true;
      if (isSame) dueAt.set(path, quietAt);
      return false;
    },
  };
}

/**
 * How a program ended. `crashed`: it may have left half of a checkpoint that does not show it. With a time (epoch ms): a shell
 * told that it was interrupted then (Ctrl-C), which says nothing about the training below it.
 */
export type ProgramOver = "done" | "crashed" | { interruptedAtMs: number };

/**
 * Creates the settler for the last look, after the program has ended: nobody will write what is missing, so nothing is awaited.
 * After a crash only a checkpoint that shows that it is complete counts as complete; the rest is doubtful.
 */
export function createLastSettler(how: ProgramOver): Settler {
  const doubts = new Map<string, string>();
  return {
    forget: () => undefined,
    whyUnfinished: () => null,
    doubtOf: (path) => doubts.get(path) ?? null,
    isSettled: async (candidate, look) => {
      const { path } = candidate;
      doubts.delete(path);
      if (look.files.length === 0 || (await hasOpenWriter(candidate))) return false;
      const { temporary } = look;
      const readiness = temporary === null ? await readReadiness(candidate, look) : null;
      const why = whyOf({ temporary, readiness });
      if (why !== null) doubts.set(path, why);
      else if (readiness?.says === "unsaid" && !readiness.isWhole && !(await isTrusted(look, how)))
        doubts.set(path, "its program ended with a fault, and nothing in it says whether it was finished");
      return !doubts.has(path);
    },
  };
}

/**
 * Tells whether a checkpoint that does not show it may count as finished. After an interruption only one whose files were all
 * created afterwards may: a handler wrote it, while a program without one (KeyboardInterrupt) stops and creates none.
 */
async function isTrusted({ files, isRemote }: Look, how: ProgramOver): Promise<boolean> {
  if (typeof how === "string") return how === "done";
  // The clock of another machine tells nothing here.
  if (isRemote) return false;
  const births = await Promise.all(files.map(async ({ path }) => (await stat(path)).birthtimeMs));
  return births.every((at) => at > how.interruptedAtMs);
}

/**
 * Returns whether any visible process has a file of the candidate open for writing. For several files and a final model only
 * their own names count: logs beside them stay open. False where /proc does not exist.
 */
export async function hasOpenWriter(candidate: Pick<Candidate, "path" | "kind" | "names">): Promise<boolean> {
  const { names } = candidate;
  const path = candidate.kind === "files" ? folderOf(candidate) : candidate.path;
  const target = await realpath(path).catch(() => path);
  const own = names === undefined ? null : new Set(names.map((name) => target + sep + name));
  const inside = (file: string) => (own === null ? file === target || file.startsWith(target + sep) : own.has(file));
  for (const pid of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) continue;
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const file = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      if (inside(file) && (await isWritable(pid, fd))) return true;
    }
  }
  return false;
}

/** Returns whether a descriptor is open for writing: the last two bits of its flags are 0 for reading only. */
async function isWritable(pid: string, fd: string): Promise<boolean> {
  const info = await readFile(`/proc/${pid}/fdinfo/${fd}`, "utf8").catch(() => "");
  const flags = /^flags:\s*([0-7]+)/m.exec(info)?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & 3) !== 0;
}
