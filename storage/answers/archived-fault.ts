import { Fault } from "#protocol/faults/fault.ts";
import type { ArchiveState } from "./storage-class.ts";

/** A file or an object whose bytes cannot be read now. */
export interface Unreadable {
  name: string;
  state: Exclude<ArchiveState, "readable">;
}

/** Files that an error names. */
const NAMED = 5;

/**
 * Returns a Fault that names archived files. Files that are being restored are marked among archived ones; if there are no
 * others, the Fault says to wait.
 */
export function archivedFault(op: string, found: readonly Unreadable[]): Fault {
  const isWaiting = found.every(({ state }) => state === "being-restored");
  const named = found
    .slice(0, NAMED)
    .map(({ name, state }) => (state === "being-restored" && !isWaiting ? `${name} (is being restored)` : name));
  const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : "";
  const detail = found.length === 1 ? {} : { detail: `${named.join(", ")}${more}` };
  const code = isWaiting ? "OBJECT_BEING_RESTORED" : "OBJECT_ARCHIVED";
  return new Fault(code, { op, subject: found[0]?.name ?? "", ...detail });
}
