import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { removeOwned } from "../base/disk/change-disk.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import { namespaceOf } from "../host/lock.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";

/**
 * The program beside a worker, as the state folder knows it: written before the program is started, so that a worker that is
 * killed at any moment leaves word of what may still run. The program and all that it starts carry the same mark in their
 * environment. A record whose program has ended is removed by the next start.
 */
export const programRecord = z.object({
  id: z.uuid(),
  /** Where its numbers of processes mean something: kernel and namespace. */
  place: z.string(),
  /** Keys of the watched folders. */
  folders: z.array(z.string()),
  /** The first word of its command line, for people. */
  name: z.string(),
  /** Null until it was started. `session` null: it shares the terminal, and the session, of the worker. */
  process: z.object({ pid: z.number(), startedAt: z.string(), session: z.number().nullable() }).nullable(),
  /** Those that came to the worker when their parents had ended. `session` null: it is the worker's own. */
  others: z.array(z.object({ pid: z.number(), startedAt: z.string(), session: z.number().nullable() })).optional(),
});
export type ProgramRecord = z.infer<typeof programRecord>;
export type OtherProcess = NonNullable<ProgramRecord["others"]>[number];

/** The variable that a program and its children carry. */
export const MARK = "TIDEMARK_PROGRAM";

/** Returns a name of a folder that is the same whatever it was called by. */
export function folderKey(folder: string): string {
  let real = folder;
  try {
    real = realpathSync(folder);
  } catch {
    // The program will make it.
  }
  return createHash("sha256").update(real).digest("hex").slice(0, 16);
}

export const markOf = ({ id, folders }: Pick<ProgramRecord, "id" | "folders">): string => [id, ...folders].join(".");

/** Returns what a mark says; an empty id where it is none. */
export function readMark(mark: string | null): Pick<ProgramRecord, "id" | "folders"> {
  const [id = "", ...folders] = (mark ?? "").split(".");
  return { id, folders };
}

const folderOf = (state: string): string => join(state, "programs");
const pathOf = (state: string, id: string): string => join(folderOf(state), `${id}.json`);

/** Faults: NO_SPACE, WRITE_FAILED. */
export async function writeProgramRecord(state: string, record: ProgramRecord): Promise<void> {
  try {
    mkdirSync(folderOf(state), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw diskFault(error, { op: "write", subject: folderOf(state), otherwise: "WRITE_FAILED" });
  }
  await writeStateFile(pathOf(state, record.id), record);
}

/** Returns the records of programs that were started here since the machine was; those of others mean nothing any more. */
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
