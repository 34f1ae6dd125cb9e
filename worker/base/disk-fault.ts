import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";

/** Errors that neither the disk nor its permissions cause. */
const WORDS: Readonly<Record<string, string>> = {
  EMFILE: "EMFILE: this process may not open more files at once; raise its limit with ulimit -n",
  ENFILE: "ENFILE: this machine may not open more files at once; raise fs.file-max",
};

/** Returns a file system error as a Fault: NO_SPACE for a full disk, `otherwise` for anything else. */
export function diskFault(error: unknown, about: { op: string; subject: string; otherwise: FaultCode }): Fault {
  if (isFault(error)) return error;
  const code = codeOf(error);
  const full = code === "ENOSPC" || code === "EDQUOT";
  const { op, subject } = about;
  const rest = full || code === null ? {} : { detail: WORDS[code] ?? code };
  return new Fault(full ? "NO_SPACE" : about.otherwise, { op, subject, ...rest, cause: error });
}

/**
 * Returns a Fault where the working directory was removed under this process, after which the system resolves no relative path
 * and starts no program; null for any other error.
 */
export function lostFolderFault(error: unknown): Fault | null {
  const { cause = null } = isFault(error) ? error.context : {};
  const thrown = isFault(error) ? cause : error;
  if (codeOf(thrown) !== "ENOENT" || !(thrown instanceof Error) || !("syscall" in thrown)) return null;
  if (thrown.syscall !== "uv_cwd") return null;
  const detail = "it was removed under this command: change into a folder that is there";
  return new Fault("NOT_FOUND", { op: "start", subject: "the working directory", detail });
}

export function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
