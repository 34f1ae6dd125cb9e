import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { lockFolder } from "./lock-folder.ts";

/**
 * Allows one hub per data folder, also where the folder is a volume of several machines or containers. Containers of one machine
 * share the kernel, so the lock of `lock-folder.ts` decides between them. The locks of some network volumes do not reach other
 * machines; there a file says who holds the folder, and counts while the holder is alive.
 */

const HEARTBEAT_MS = 2_000;
/** How long another machine's count is watched: more than two of its heartbeats. */
const WATCH_MS = 5_000;

const holder = z.object({
  id: z.string(),
  host: z.string(),
  pid: z.number(),
  /** One per start of a machine, the same in its containers. */
  bootId: z.string(),
  /** Epoch ms. */
  since: z.number(),
  heartbeats: z.number(),
});
type Holder = z.infer<typeof holder>;

async function readHolder(file: string): Promise<Holder | null> {
  try {
    return holder.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return null;
  }
}

async function writeHolder(file: string, one: Holder): Promise<void> {
  const unfinished = `${file}.${one.id}`;
  try {
    await writeFile(unfinished, `${JSON.stringify(one)}\n`, { mode: 0o600 });
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

const sentenceOf = (one: Holder | null): string =>
  one === null
    ? "it does not say which"
    : `process ${one.pid} on ${one.host}, since ${new Date(one.since).toISOString()}`;

/** Returns the identity of the running machine. Without one of the kernel, each process counts as a machine of its own. */
const readBootId = (): Promise<string> =>
  readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
    (text) => text.trim(),
    () => hostname(),
  );

export interface HoldOptions {
  waitMs: number;
  /** Called once when a hub on another machine has taken the folder over: this one must end. */
  onTaken: (fault: Fault) => void;
  /** For tests: another machine than this one. */
  machine?: { host: string; bootId: string };
}

const inUse = (folder: string, by: Holder | null): Fault =>
  new Fault("FOLDER_IN_USE", { subject: folder, detail: sentenceOf(by) });

/** Returns whether the holder still counts; until it does, or the time is over, its machine may only be slow. */
async function isCounting(file: string, before: Holder): Promise<boolean> {
  const until = performance.now() + WATCH_MS;
  while (performance.now() < until) {
    await sleep(HEARTBEAT_MS / 10);
    const now = await readHolder(file);
    if (now === null) return false;
    if (now.id !== before.id || now.heartbeats !== before.heartbeats) return true;
  }
  return false;
}

/**
 * Locks a data folder, writes down who holds it, and returns what releases it.
 * @throws Fault FOLDER_IN_USE, which names the holder; Error of SQLite when the lock cannot be written
 */
export async function holdFolder(folder: string, options: HoldOptions): Promise<() => Promise<void>> {
  const file = join(folder, "hub.holder");
  const unlock = await lockFolder(join(folder, "hub.lock"), options.waitMs);
  if (unlock === null) throw inUse(folder, await readHolder(file));
  const { host, bootId } = options.machine ?? { host: hostname(), bootId: await readBootId() };
  const own: Holder = { id: randomUUID(), host, pid: process.pid, bootId, since: Date.now(), heartbeats: 0 };
  try {
    const before = await readHolder(file);
    if (before !== null && before.bootId !== bootId && (await isCounting(file, before))) throw inUse(folder, before);
    // A full disk keeps nobody out: the lock above holds without this file.
    await writeHolder(file, own).catch(() => undefined);
  } catch (error) {
    await unlock();
    throw error;
  }
  let heartbeat: Promise<void> = Promise.resolve();
  const writeHeartbeat = async (): Promise<void> => {
    const now = await readHolder(file);
    if (now !== null && now.id !== own.id) {
      clearInterval(timer);
      options.onTaken(inUse(folder, now));
      return;
    }
    own.heartbeats++;
    await writeHolder(file, own).catch(() => undefined);
  };
  const timer = setInterval(() => void (heartbeat = heartbeat.then(writeHeartbeat)), HEARTBEAT_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await heartbeat;
    if ((await readHolder(file))?.id === own.id) await rm(file, { force: true });
    await unlock();
  };
}
