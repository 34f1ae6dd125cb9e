import { randomBytes } from "node:crypto";
import { lstat, lutimes, readFile, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { removeOwned, renameOwned } from "../base/disk/change-disk.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";

/**
 * One worker per state folder: two writers would tear each other's journals. The lock names a process by number, start
 * time and the namespace in which that number means something, so that a lock left behind by kill -9 is recognised even when
 * its number was given to somebody else. Of a process in another namespace (two containers on one volume) nothing can be
 * asked, so the holder touches its lock all the time: one that is not touched any more is dead.
 *
 * The lock is a symbolic link whose target says this: it appears with its content, and needs no room on a full disk, where
 * a worker must be able to start to remove what fills it.
 * Returns the function that gives the lock back. May take half a minute when a container that held it was killed.
 * @throws Fault FOLDER_IN_USE
 */
export const lockFolder = (folder: string): Promise<() => Promise<void>> =>
  lockAt(join(folder, "worker.lock"), { code: "FOLDER_IN_USE", op: "start", subject: folder });

/** Who holds the lock of a folder, or left it behind; null when it is free. Takes nothing. */
export async function readHolder(folder: string): Promise<{ pid: number; isAlive: boolean } | null> {
  const path = join(folder, "worker.lock");
  const text = await readLock(path);
  if (text === null) return null;
  const isHeld = (await isAliveHere(text)) ?? (await ageOf(path)) < TIMING.staleMs;
  return { pid: Number(text.split(" ")[0]), isAlive: isHeld };
}

/** A holder touches its lock every `beatMs`; one that did not for `staleMs` is dead. */
const TIMING = { beatMs: 3_000, staleMs: 30_000 };

interface About {
  code: FaultCode;
  op: string;
  subject: string;
}

/**
 * As `lockFolder`, for anything that only one process may do at a time. The folder of the lock must exist.
 * @throws Fault of `code` while another process does it
 */
export async function lockAt(path: string, about: About, timing = TIMING): Promise<() => Promise<void>> {
  const { code, op, subject } = about;
  const mine = `${process.pid} ${(await startTimeOf(process.pid)) ?? "-"} ${await namespaceOf()}`;
  for (let tries = 0; tries < 3; tries++) {
    if (await tryCreate(path, mine)) return keep(path, { mine, beatMs: timing.beatMs });
    const holder = await readLock(path);
    if (holder === null) continue;
    if ((await isAliveHere(holder)) ?? (await isTouched(path, timing))) {
      throw new Fault(code, { op, subject, detail: `by process ${holder.split(" ")[0]}` });
    }
    await removeDead(path, holder);
  }
  throw new Fault(code, { op, subject });
}

async function tryCreate(path: string, text: string): Promise<boolean> {
  try {
    await symlink(text, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw diskFault(error, { op: "start", subject: path, otherwise: "FOLDER_UNWRITABLE" });
  }
}

/** Shows that the holder lives, until the lock is given back. */
function keep(path: string, { mine, beatMs }: { mine: string; beatMs: number }): () => Promise<void> {
  const isMine = async () => (await readLock(path)) === mine;
  const touch = async () => {
    const now = new Date();
    if (await isMine()) await lutimes(path, now, now);
  };
  // A touch that fails is made up for by the next.
  const timer = setInterval(() => void touch().catch(() => undefined), beatMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    if (await isMine()) await removeOwned("lock", path);
  };
}

/** Whether a holder that cannot be asked touches its lock. Watched until that is clear: its clock need not be ours. */
async function isTouched(path: string, { beatMs, staleMs }: typeof TIMING): Promise<boolean> {
  const first = await touchedAt(path);
  if (first === null) return false;
  for (;;) {
    if ((await ageOf(path)) >= staleMs) return false;
    await sleep(beatMs / 4);
    if ((await touchedAt(path)) !== first) return true;
  }
}

const touchedAt = (path: string): Promise<number | null> =>
  lstat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );

const ageOf = async (path: string): Promise<number> => Date.now() - ((await touchedAt(path)) ?? 0);

/** Takes a dead lock away; one that somebody else put in its place meanwhile is put back. */
async function removeDead(path: string, holder: string): Promise<void> {
  const away = `${path}.${randomBytes(6).toString("hex")}.dead`;
  try {
    await renameOwned("lock", path, away);
    const taken = await readLock(away);
    if (taken !== null && taken !== holder) await symlink(taken, path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "EEXIST") {
      throw diskFault(error, { op: "start", subject: path, otherwise: "FOLDER_UNWRITABLE" });
    }
  } finally {
    await removeOwned("lock", away);
  }
}

/** What a lock says; null when there is none. Earlier versions wrote it into a file. */
const readLock = (path: string): Promise<string | null> =>
  readlink(path)
    .catch(() => readFile(path, "utf8"))
    .catch(() => null);

/** Null when it is of another namespace, where our numbers mean somebody else. */
async function isAliveHere(holder: string): Promise<boolean | null> {
  const [number = "", started = "", namespace] = holder.trim().split(" ");
  const pid = Number(number);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  if (namespace !== undefined && namespace !== (await namespaceOf())) return null;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === "ESRCH") return false;
  }
  const now = await startTimeOf(pid);
  return now === null || started === "" || started === "-" || now === started;
}

/** Returns in which numbers of processes mean the same: the kernel since its start, and the namespace. Short: a link holds it in place. */
export async function namespaceOf(): Promise<string> {
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  const space = await readlink("/proc/self/ns/pid").catch(() => "");
  return `${space.replaceAll(/\D/g, "")}-${boot.slice(0, 8)}`;
}

/** When the process was started, in the kernel's ticks; null where there is no /proc. */
async function startTimeOf(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}
