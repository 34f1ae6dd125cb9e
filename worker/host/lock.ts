import { randomBytes } from "node:crypto";
import { lstat, lutimes, readFile, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { removeOwned, renameOwned } from "../base/disk/change-disk.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";

/**
 * Locks a state folder for one worker, because two writers would corrupt each other's journals. The lock names a process
 * by pid, start time and pid namespace, so a lock left by kill -9 is recognized even when its pid was reused. A process in
 * another pid namespace (two containers on one volume) cannot be checked. Therefore the holder regularly updates the
 * lock's modification time; a lock that is no longer updated is stale. That time comes from the holder's clock, which differs
 * from ours on another machine. Therefore only a lock of this boot is judged by its age; any other one is watched for changes.
 *
 * The lock is a symbolic link with these values as its target. A link is created together with its content, and needs no
 * space on a full disk, where a worker must still start in order to free space.
 * Returns the function that releases the lock. May take half a minute when a container or machine that held it was killed.
 * @throws Fault FOLDER_IN_USE
 */
export const lockFolder = (folder: string): Promise<() => Promise<void>> =>
  lockAt(join(folder, "worker.lock"), { code: "FOLDER_IN_USE", op: "start", subject: folder });

/** A holder updates its lock every `heartbeatMs`; a lock older than `staleMs` is stale. */
const TIMING = { heartbeatMs: 3_000, staleMs: 30_000 };
/** `readHolder` only informs, so it watches a lock of another machine for a shorter time. */
const BRIEF_MS = 7_000;

/**
 * Returns the process that holds a folder's lock, or left a stale one; null without a lock. Does not lock. Takes some seconds
 * for a lock of another machine that is not updated.
 */
export async function readHolder(
  folder: string,
  timing = { ...TIMING, briefMs: BRIEF_MS },
): Promise<{ pid: number; isAlive: boolean } | null> {
  const path = join(folder, "worker.lock");
  const text = await readLock(path);
  if (text === null) return null;
  const isFresh = async (): Promise<boolean> =>
    (await isOfThisBoot(text))
      ? (await ageOf(path)) < timing.staleMs
      : isTouched(path, text, { ...timing, staleMs: timing.briefMs });
  return { pid: Number(text.split(" ")[0]), isAlive: (await isAliveHere(text)) ?? (await isFresh()) };
}

interface About {
  code: FaultCode;
  op: string;
  subject: string;
}

/**
 * Takes a lock as `lockFolder` does, for any work that only one process may do at a time. The lock's folder must exist.
 * @throws Fault with `code` while another process holds the lock
 */
export async function lockAt(path: string, about: About, timing = TIMING): Promise<() => Promise<void>> {
  const { code, op, subject } = about;
  const mine = `${process.pid} ${(await startTimeOf(process.pid)) ?? "-"} ${await namespaceOf()}`;
  for (let tries = 0; tries < 3; tries++) {
    if (await tryCreate(path, mine)) return keep(path, { mine, heartbeatMs: timing.heartbeatMs });
    const holder = await readLock(path);
    if (holder === null) continue;
    if ((await isAliveHere(holder)) ?? (await isTouched(path, holder, timing))) {
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

/** Updates the lock's modification time until the returned function releases the lock. */
function keep(path: string, { mine, heartbeatMs }: { mine: string; heartbeatMs: number }): () => Promise<void> {
  const isMine = async () => (await readLock(path)) === mine;
  const touch = async () => {
    const now = new Date();
    if (await isMine()) await lutimes(path, now, now);
  };
  // A failed update is ignored, because the next one follows soon.
  const timer = setInterval(() => void touch().catch(() => undefined), heartbeatMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    if (await isMine()) await removeOwned("lock", path);
  };
}

/**
 * Tells whether the holder still updates the lock, by watching it for `staleMs`. A lock of this boot is known to be stale sooner:
 * as soon as it is `staleMs` old.
 */
async function isTouched(path: string, holder: string, { heartbeatMs, staleMs }: typeof TIMING): Promise<boolean> {
  const first = await touchedAt(path);
  const isOneClock = await isOfThisBoot(holder);
  const startedAt = performance.now();
  for (let now = first; now !== null; now = await touchedAt(path)) {
    if (now !== first) return true;
    if (performance.now() - startedAt >= staleMs || (isOneClock && Date.now() - now >= staleMs)) return false;
    await sleep(heartbeatMs / 4);
  }
  return false;
}

const touchedAt = (path: string): Promise<number | null> =>
  lstat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );

const ageOf = async (path: string): Promise<number> => Date.now() - ((await touchedAt(path)) ?? 0);

/** Removes a stale lock. If another process has replaced the lock meanwhile, the new one is put back. */
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

/** Returns the content of a lock; null when there is none. Earlier versions used a regular file. */
const readLock = (path: string): Promise<string | null> =>
  readlink(path)
    .catch(() => readFile(path, "utf8"))
    .catch(() => null);

/** Tells whether a lock's holder is alive; null when it is in another pid namespace, where pids mean other processes. */
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

/** Tells whether a lock was made under the running kernel, so that its times come from the same clock as ours. */
async function isOfThisBoot(holder: string): Promise<boolean> {
  const [, , namespace = ""] = holder.trim().split(" ");
  const boot = bootOf(namespace);
  return boot !== "" && boot === bootOf(await namespaceOf());
}

const bootOf = (namespace: string): string => namespace.slice(namespace.indexOf("-") + 1);

/** Returns an id of this boot and pid namespace, within which pids are unambiguous. Short, to fit into a link's inode. */
export async function namespaceOf(): Promise<string> {
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  const space = await readlink("/proc/self/ns/pid").catch(() => "");
  return `${space.replaceAll(/\D/g, "")}-${boot.slice(0, 8)}`;
}

/** Returns the start time of a process in kernel ticks since boot; null without /proc. */
async function startTimeOf(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}
