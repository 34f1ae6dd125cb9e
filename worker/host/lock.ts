import { randomBytes } from "node:crypto";
import { link, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "#protocol/fault.ts";
import type { FaultCode } from "#protocol/fault-table.ts";
import { codeOf, diskFault } from "../engine/disk-fault.ts";

/**
 * One worker per state folder: two writers would tear each other's journals. The lock names a process by number and
 * start time, so that a lock left behind by kill -9 is recognised even when its number was given to somebody else.
 * Returns the function that gives the lock back.
 * @throws Fault FOLDER_IN_USE
 */
export const lockFolder = (folder: string): Promise<() => Promise<void>> =>
  lockAt(join(folder, "worker.lock"), { code: "FOLDER_IN_USE", op: "start", subject: folder });

/** Who holds the lock of a folder, or left it behind; null when it is free. Takes nothing. */
export async function readHolder(folder: string): Promise<{ pid: number; isAlive: boolean } | null> {
  const holder = await readFile(join(folder, "worker.lock"), "utf8").catch(() => null);
  return holder === null ? null : { pid: Number(holder.split(" ")[0]), isAlive: await isAlive(holder) };
}

/**
 * As `lockFolder`, for anything that only one process may do at a time. The folder of the lock must exist.
 * @throws Fault of `code` while another process does it
 */
export async function lockAt(
  path: string,
  about: { code: FaultCode; op: string; subject: string },
): Promise<() => Promise<void>> {
  const { code, op, subject } = about;
  const mine = `${process.pid} ${(await startTimeOf(process.pid)) ?? ""}`;
  for (let tries = 0; tries < 3; tries++) {
    if (await tryCreate(path, mine)) return () => rm(path, { force: true });
    const holder = await readFile(path, "utf8").catch(() => "");
    if (await isAlive(holder)) {
      throw new Fault(code, { op, subject, detail: `by process ${holder.split(" ")[0]}` });
    }
    await removeDead(path, holder);
  }
  throw new Fault(code, { op, subject });
}

/** It appears with its content: an empty one would look like a dead one to whoever starts at the same moment. */
async function tryCreate(path: string, text: string): Promise<boolean> {
  const mine = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const handle = await open(mine, "w", 0o600);
    await handle.writeFile(text);
    await handle.close();
    await link(mine, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw diskFault(error, { op: "start", subject: path, otherwise: "FOLDER_UNWRITABLE" });
  } finally {
    await rm(mine, { force: true });
  }
}

/** Takes a dead lock away; one that somebody else put in its place meanwhile is put back. */
async function removeDead(path: string, holder: string): Promise<void> {
  const away = `${path}.${randomBytes(6).toString("hex")}.dead`;
  try {
    await rename(path, away);
    if ((await readFile(away, "utf8")) !== holder) await link(away, path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "EEXIST") {
      throw diskFault(error, { op: "start", subject: path, otherwise: "FOLDER_UNWRITABLE" });
    }
  } finally {
    await rm(away, { force: true });
  }
}

async function isAlive(holder: string): Promise<boolean> {
  const [number = "", started = ""] = holder.trim().split(" ");
  const pid = Number(number);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === "ESRCH") return false;
  }
  const now = await startTimeOf(pid);
  return now === null || started === "" || now === started;
}

/** When the process was started, in the kernel's ticks; null where there is no /proc. */
async function startTimeOf(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}
