import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { removeOwned } from "../base/disk/change-disk.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import { namespaceOf } from "../host/lock.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";

/**
 * Record of a worker's program in the state folder. It is written before the program starts, so that a worker killed at any
 * moment leaves a trace of processes that may still run. The program and its descendants have the same mark in their
 * environment. The next start removes a record whose program has ended.
 */
export const programRecord = z.object({
  id: z.uuid(),
  /** Boot and pid namespace in which the pids are valid. */
  place: z.string(),
  /** Keys of the watched folders. */
  folders: z.array(z.string()),
  /** First word of the command line, for messages. */
  name: z.string(),
  /** First process; null until it is started. `session` null: it shares terminal and session with the worker. */
  process: z.object({ pid: z.number(), startedAt: z.string(), session: z.number().nullable() }).nullable(),
  /** Processes that the worker adopted after their parents ended. `session` null: the worker's own. */
  others: z.array(z.object({ pid: z.number(), startedAt: z.string(), session: z.number().nullable() })).optional(),
});
export type ProgramRecord = z.infer<typeof programRecord>;
export type OtherProcess = NonNullable<ProgramRecord["others"]>[number];

/** Environment variable that marks a program and its descendants. */
export const MARK = "TIDEMARK_PROGRAM";

/** Returns a key for a folder that is the same for every path to it. */
export function folderKey(folder: string): string {
  let real = folder;
  try {
    real = realpathSync(folder);
  } catch {
    // The folder does not exist yet; the program will create it.
  }
  return createHash("sha256").update(real).digest("hex").slice(0, 16);
}

export const markOf = ({ id, folders }: Pick<ProgramRecord, "id" | "folders">): string => [id, ...folders].join(".");

/** Parses a mark; the id is empty when there is none. */
export function readMark(mark: string | null): Pick<ProgramRecord, "id" | "folders"> {
  const [id = "", ...folders] = (mark ?? "").split(".");
  return { id, folders };
}

const folderOf = (state: string): string => join(state, "programs");
const pathOf = (state: string, id: string): string => join(folderOf(state), `${id}.json`);

/** Writes a record. @throws Fault NO_SPACE, WRITE_FAILED */
export async function writeProgramRecord(state: string, record: ProgramRecord): Promise<void> {
  try {
    mkdirSync(folderOf(state), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw diskFault(error, { op: "write", subject: folderOf(state), otherwise: "WRITE_FAILED" });
  }
  await writeStateFile(pathOf(state, record.id), record);
}

/** Returns the records of this boot and pid namespace, and removes all others, whose pids are meaningless. */
export async function readProgramRecords(state: string): Promise<ProgramRecord[]> {
  const place = await namespaceOf();
  const found: ProgramRecord[] = [];
  for (const name of namesIn(folderOf(state))) {
    const record = await readStateFile(join(folderOf(state), name), programRecord);
    if (record !== null && record.place === place) found.push(record);
    else await removeOwned("state-file", join(folderOf(state), name));
  }
  return found;
}

export const removeProgramRecord = (state: string, id: string): Promise<void> =>
  removeOwned("state-file", pathOf(state, id));

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw diskFault(error, { op: "read", subject: folder, otherwise: "READ_FAILED" });
  }
}
