import { Fault, isFault } from "#protocol/fault.ts";
import type { FaultCode } from "#protocol/fault-table.ts";

/** An error of the file system as a Fault: a full disk is NO_SPACE, anything else what the caller says. */
export function diskFault(error: unknown, about: { op: string; subject: string; otherwise: FaultCode }): Fault {
  if (isFault(error)) return error;
  const code = codeOf(error);
  const full = code === "ENOSPC" || code === "EDQUOT";
  const { op, subject } = about;
  const rest = full || code === null ? {} : { detail: code };
  return new Fault(full ? "NO_SPACE" : about.otherwise, { op, subject, ...rest, cause: error });
}

export function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
