import { open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "#protocol/fault.ts";
import { codeOf, diskFault } from "../engine/disk-fault.ts";

/**
 * One worker per state folder: two writers would tear each other's journals. The lock names a process by number and
 * start time, so that a lock left behind by kill -9 is recognised even when its number was given to somebody else.
 * Returns the function that gives the lock back.
 * @throws Fault FOLDER_IN_USE
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, "worker.lock");
  const mine = `${process.pid} ${(await startTimeOf(process.pid)) ?? ""}`;
  for (let tries = 0; tries < 3; tries++) {
    if (await tryCreate(path, mine)) return () => rm(path, { force: true });
    const holder = await readFile(path, "utf8").catch(() => "");
    if (await isAlive(holder)) {
      throw new Fault("FOLDER_IN_USE", { op: "start", subject: folder, detail: `by process ${holder.split(" ")[0]}` });
    }
    await rm(path, { force: true });
  }
  throw new Fault("FOLDER_IN_USE", { op: "start", subject: folder });
}

async function tryCreate(path: string, text: string): Promise<boolean> {
  try {
    const handle = await open(path, "wx", 0o600);
    await handle.writeFile(text);
    await handle.close();
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw diskFault(error, { op: "start", subject: path, otherwise: "FOLDER_UNWRITABLE" });
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
