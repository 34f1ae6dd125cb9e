import { join } from "node:path";
import * as z from "zod";
import { removeOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import { parseTimetable, type Timetable } from "../command-line/schedule.ts";

/**
 * Limits that are set while workers run (`tidemark limit`), in a file of the state folder. Changing them needs no hub. They
 * hold until they are reset, also after a restart. Every agent and every copy with this state folder follows the file.
 */
const limit = z
  .string()
  .refine((text) => isTimetable(text))
  .nullable();
const limits = z.object({ up: limit, down: limit });
/** `until`: epoch ms by this machine's clock, after which the limits in `later` hold. */
const file = limits.extend({ until: z.number().nullable().default(null), later: limits.nullable().default(null) });

/** Limits as text (see `parseTimetable`); null: the limit that the worker was started with. */
export type SetLimits = z.infer<typeof limits>;
/** Limits that expire. */
type PassingLimits = z.infer<typeof file>;

export const NOTHING_SET: SetLimits = { up: null, down: null };

export const limitsFile = (state: string): string => join(state, "limits.json");

/** Returns the limits set now; none when the file is missing or invalid. @throws Fault READ_FAILED */
export async function readSetLimits(state: string, wallNow: () => number = Date.now): Promise<SetLimits> {
  const kept = await readStateFile(limitsFile(state), file);
  if (kept === null) return NOTHING_SET;
  const { up, down } = kept.until !== null && wallNow() >= kept.until ? (kept.later ?? NOTHING_SET) : kept;
  return { up, down };
}

/** Returns limits that hold until a time of this machine's clock, and then the lasting limits again. @throws Fault READ_FAILED */
export async function limitsUntil(state: string, wanted: SetLimits, until: number): Promise<PassingLimits> {
  const kept = await readStateFile(limitsFile(state), file);
  const isPassing = kept !== null && kept.until !== null && Date.now() < kept.until;
  const later = isPassing ? kept.later : await readSetLimits(state);
  return { ...wanted, until, later };
}

/** Writes the limits, or removes the file when none is set. @throws Fault NO_SPACE, WRITE_FAILED */
export async function writeSetLimits(state: string, wanted: SetLimits | PassingLimits): Promise<void> {
  if (wanted.up !== null || wanted.down !== null || "until" in wanted) {
    await writeStateFile(limitsFile(state), wanted);
    return;
  }
  await removeOwned("state-file", limitsFile(state)).catch((error: unknown) => {
    throw diskFault(error, { op: "write", subject: limitsFile(state), otherwise: "WRITE_FAILED" });
  });
}

/** Parses both limits. */
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
