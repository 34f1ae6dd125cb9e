import { readdir, readFile, readlink, realpath } from "node:fs/promises";
import { sep } from "node:path";
import type { Look } from "./look.ts";

/**
 * When is a checkpoint finished? Only its program knows. Without being told: when it looks the same for the settle time,
 * holds nothing temporary, and (where /proc can be read) nobody has a file in it open for writing. A marker that
 * frameworks write last (`.complete`, `commit_success.txt`) ends the wait at the second equal look.
 */
export interface Settler {
  /** Whether the checkpoint at `path` is finished, judged by this look and those before it. */
  isSettled(path: string, look: Look): Promise<boolean>;
  /** It is gone, or was taken. */
  forget(path: string): void;
}

const MARKERS = /(^|\/)(\.complete|COMPLETE|_SUCCESS|commit_success\.txt|_CHECKPOINT_METADATA)$/;

/**
 * Files that show which framework writes, and the one it writes last. Between the two it may be quiet for long (an
 * optimizer gathered from many ranks), so without the last one the wait is much longer.
 */
const WRITTEN_LAST: readonly { seen: RegExp; last: RegExp }[] = [
  { seen: /^training_args\.bin$/, last: /^trainer_state\.json$/ },
  { seen: /(^|\/)__\d+_\d+\.distcp$/, last: /(^|\/)\.metadata$/ },
];
const LONGER = 15;

function waitFor(look: Look, settleMs: number): number {
  const has = (pattern: RegExp) => look.files.some(({ relative }) => pattern.test(relative));
  return WRITTEN_LAST.some(({ seen, last }) => has(seen) && !has(last)) ? settleMs * LONGER : settleMs;
}

export interface SettleOptions {
  settleMs: number;
  /** Milliseconds that only go up. */
  now(): number;
  /** Epoch ms, comparable with file times. */
  wallNow(): number;
  hasWriter(path: string): Promise<boolean>;
}

export function createSettler(options: SettleOptions): Settler {
  const seen = new Map<string, { fingerprint: string; since: number }>();
  return {
    forget: (path) => void seen.delete(path),
    isSettled: async (path, look) => {
      const before = seen.get(path);
      const isSame = before?.fingerprint === look.fingerprint;
      const since = isSame ? before.since : options.now();
      if (!isSame) seen.set(path, { fingerprint: look.fingerprint, since });
      if (look.files.length === 0 || look.hasTemporary) return false;
      const isMarked = isSame && look.files.some((file) => MARKERS.test(file.relative));
      const waitMs = waitFor(look, options.settleMs);
      const isQuiet = isSame && options.now() - since >= waitMs;
      // Seen for the first time, but untouched for long: the worker was started later than the program wrote it.
      const isOld = options.wallNow() - look.touchedMs > Math.max(waitMs, 1000);
      if (!isMarked && !isQuiet && !isOld) return false;
      return !(await options.hasWriter(path));
    },
  };
}

/** Whether any visible process has a file at or under `path` open for writing. False where /proc does not exist. */
export async function hasOpenWriter(path: string): Promise<boolean> {
  const target = await realpath(path).catch(() => path);
  const inside = (file: string) => file === target || file.startsWith(target + sep);
  for (const pid of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) continue;
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const file = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      if (inside(file) && (await isWritable(pid, fd))) return true;
    }
  }
  return false;
}

/** The last two bits of the flags: 0 is reading only. */
async function isWritable(pid: string, fd: string): Promise<boolean> {
  const info = await readFile(`/proc/${pid}/fdinfo/${fd}`, "utf8").catch(() => "");
  const flags = /^flags:\s*([0-7]+)/m.exec(info)?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & 3) !== 0;
}
