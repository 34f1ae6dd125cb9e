import { join } from "node:path";
import * as z from "zod";
import { removeOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import { parseTimetable, type Timetable } from "../command-line/schedule.ts";

/**
 * Limits that were set while workers run, as a file in the state folder: no hub is needed to change them, and they hold
 * until they are reset, also over a restart. Every agent and every copy with this state folder follows it.
 */
const limit = z
  .string()
  .refine((text) => isTimetable(text))
  .nullable();
const limits = z.object({ up: limit, down: limit });
/** `until`: epoch ms by this machine's clock; then what is in `later` holds. */
const file = limits.extend({ until: z.number().nullable().default(null), later: limits.nullable().default(null) });

/** As people write limits (see `parseTimetable`); null: as the worker was started. */
export type SetLimits = z.infer<typeof limits>;
/** Some that end by themselves. */
type PassingLimits = z.infer<typeof file>;

export const NOTHING_SET: SetLimits = { up: null, down: null };

export const limitsFile = (state: string): string => join(state, "limits.json");

/** What is set now; nothing when the file is missing or cannot be understood. Faults: READ_FAILED. */
export async function readSetLimits(state: string, wallNow: () => number = Date.now): Promise<SetLimits> {
  const kept = await readStateFile(limitsFile(state), file);
  if (kept === null) return NOTHING_SET;
  const { up, down } = kept.until !== null && wallNow() >= kept.until ? (kept.later ?? NOTHING_SET) : kept;
  return { up, down };
}

/** `wanted` until a moment of this machine's clock, and then what would hold without it. Faults: READ_FAILED. */
export async function limitsUntil(state: string, wanted: SetLimits, until: number): Promise<PassingLimits> {
  const kept = await readStateFile(limitsFile(state), file);
  const isPassing = kept !== null && kept.until !== null && Date.now() < kept.until;
  const later = isPassing ? kept.later : await readSetLimits(state);
  return { ...wanted, until, later };
}

/** Sets them, or takes the file away when nothing is set any more. Faults: NO_SPACE, WRITE_FAILED. */
export async function writeSetLimits(state: string, wanted: SetLimits | PassingLimits): Promise<void> {
  if (wanted.up !== null || wanted.down !== null || "until" in wanted) {
    await writeStateFile(limitsFile(state), wanted);
    return;
  }
  await removeOwned("state-file", limitsFile(state)).catch((error: unknown) => {
    throw diskFault(error, { op: "write", subject: limitsFile(state), otherwise: "WRITE_FAILED" });
  });
}

/** As timetables. */
export function timetablesOf(set: SetLimits): { up: Timetable | null; down: Timetable | null } {
  const read = (text: string | null) => (text === null ? null : parseTimetable(text));
  return { up: read(set.up), down: read(set.down) };
}

function isTimetable(text: string): boolean {
  try {
    parseTimetable(text);
    return true;
  } catch {
    return false;
  }
}
