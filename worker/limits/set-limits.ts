import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { diskFault } from "../engine/disk-fault.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import { parseTimetable, type Timetable } from "./schedule.ts";

/**
 * Limits that were set while workers run, as a file in the state folder: no hub is needed to change them, and they hold
 * until they are reset, also over a restart. Every agent and every copy with this state folder follows it.
 */
const limit = z
  .string()
  .refine((text) => isTimetable(text))
  .nullable();
const file = z.object({ up: limit, down: limit });

/** As people write limits (see `parseTimetable`); null: as the worker was started. */
export type SetLimits = z.infer<typeof file>;

export const NOTHING_SET: SetLimits = { up: null, down: null };

const pathIn = (state: string): string => join(state, "limits.json");

/** What is set; nothing when the file is missing or cannot be understood. Faults: READ_FAILED. */
export async function readSetLimits(state: string): Promise<SetLimits> {
  return (await readStateFile(pathIn(state), file)) ?? NOTHING_SET;
}

/** Sets them, or takes the file away when nothing is set any more. Faults: NO_SPACE, WRITE_FAILED. */
export async function writeSetLimits(state: string, limits: SetLimits): Promise<void> {
  if (limits.up !== null || limits.down !== null) {
    await writeStateFile(pathIn(state), limits);
    return;
  }
  await rm(pathIn(state), { force: true }).catch((error: unknown) => {
    throw diskFault(error, { op: "write", subject: pathIn(state), otherwise: "WRITE_FAILED" });
  });
}

/** As timetables. */
export function timetablesOf(limits: SetLimits): { up: Timetable | null; down: Timetable | null } {
  const read = (text: string | null) => (text === null ? null : parseTimetable(text));
  return { up: read(limits.up), down: read(limits.down) };
}

function isTimetable(text: string): boolean {
  try {
    parseTimetable(text);
    return true;
  } catch {
    return false;
  }
}
