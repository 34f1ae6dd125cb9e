import { randomBytes } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { toFault } from "#protocol/faults/fault.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { removeOwned } from "#worker/base/disk/change-disk.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { judgeStateDisk } from "#worker/host/judge-state-disk.ts";
import { readHolder } from "#worker/host/lock.ts";
import { stateFolder } from "#worker/host/state-folder.ts";
import { readRoom } from "#worker/base/room.ts";
import { doubtful, failed, fine, skipped, type Finding } from "./finding.ts";

/** Captures lie in the state folder; with less free space than this the first large checkpoint does not fit. */
const ENOUGH_BYTES = 1024 ** 3;
/** Each connection and each file in transfer takes a descriptor; the training program has a limit of its own. */
const ENOUGH_FILES = 1024;

/** Checks the state folder that the worker would use. Returns the folder, or null, with the findings. */
export async function checkState(
  requested: string | null,
  home: string | null,
): Promise<{ folder: string | null; findings: Finding[] }> {
  try {
    const folder = await stateFolder(requested, home);
    await writeOnce(folder);
    return {
      folder,
      findings: [
        fine("state folder", `${folder} can be written`),
        judgeRoom(folder, (await readRoom(folder)).freeBytes),
      ],
    };
  } catch (error) {
    const fix = "Name a folder that this user may write: --state DIR, or TIDEMARK_STATE.";
    const fault = toFault(error).toData();
    const found = failed("state folder", fault, fault.code === "NO_SPACE" ? undefined : fix);
    return { folder: null, findings: [found] };
  }
}

/** Creates a file, because permissions alone do not show whether space and quota suffice. */
async function writeOnce(folder: string): Promise<void> {
  const path = join(folder, `doctor.${randomBytes(6).toString("hex")}`);
  try {
    const handle = await open(path, "wx", 0o600);
    try {
      await handle.writeFile("tidemark doctor\n");
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw diskFault(error, { op: "doctor", subject: folder, otherwise: "FOLDER_UNWRITABLE" });
  } finally {
    await removeOwned("nameless-file", path);
  }
}

/** Judges the free space. Pure. */
export function judgeRoom(folder: string, freeBytes: number): Finding {
  const says = `${formatBytes(freeBytes)} are free on the disk of ${folder}`;
  if (freeBytes >= ENOUGH_BYTES) return fine("disk space", says);
  return doubtful("disk space", {
    says: `${says}; captures of checkpoints are kept there until they are safe`,
    fix: "Free some space, or name a folder on a larger disk: --state DIR.",
  });
}

/** Checks whether captures go to a smaller or slower disk than the checkpoints of a watched folder. */
export async function checkDisks(folder: string, watched: string): Promise<Finding[]> {
  const found = await judgeStateDisk(folder, watched);
  return found === null ? [] : [doubtful("disk of the state", found)];
}

/** Checks whether a worker is running on this state folder: at most one may. */
export async function checkLock(folder: string): Promise<Finding> {
  const holder = await readHolder(folder);
  if (holder === null) return fine("state lock", "no worker is running on the state folder");
  if (holder.isAlive) return fine("state lock", `a worker is running on the state folder: process ${holder.pid}`);
  return fine("state lock", "a worker that was killed left its lock behind; the next one takes it over");
}

/** Checks how many files and connections one process may have open. */
export async function checkOpenFiles(limitsFile = "/proc/self/limits"): Promise<Finding> {
  const text = await readFile(limitsFile, "utf8").catch(() => "");
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(text)?.[1];
  if (limit === undefined)
    return skipped("open files", { says: "this system does not say its limit", fix: "Ask the shell: ulimit -n." });
  const most = limit === "unlimited" ? Infinity : Number(limit);
  const says = most === Infinity ? "there is no limit for a process" : `up to ${formatCount(most)} for a process`;
  if (most >= ENOUGH_FILES) return fine("open files", says);
  return doubtful("open files", {
    says: `${says}; with many connections they run out`,
    fix: `Raise the limit to ${ENOUGH_FILES} or more: ulimit -n 4096, for a container --ulimit nofile=4096:4096.`,
  });
}

/** Judges whether the worker learns the exit status of processes that outlive the shell that started them. Pure. */
export function judgeNative(isThere: boolean): Finding {
  const check = "native module";
  if (isThere) return fine(check, "Koffi is loaded: the worker learns how a training ended that outlived its shell");
  return fine(
    check,
    "without Koffi the worker does not learn how a training ended that outlived its shell, so what it saved last in a layout that does not mark its end is kept as doubtful; the executable `tidemark` has Koffi",
  );
}
