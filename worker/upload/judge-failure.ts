import type { Fault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";

/** Faults that show that the store does not have what was sent. */
export const LOST: ReadonlySet<FaultCode> = new Set([
  "NO_SUCH_KEY",
  "SIZE_MISMATCH",
  "OBJECT_CHANGED",
  "ALREADY_EXISTS",
]);
/** Faults that show that the hub does not know the announcement, because it was restored from an older backup. */
export const FORGOTTEN: ReadonlySet<FaultCode> = new Set(["NOT_THIS_NODES", "NOT_FOUND"]);
/** Faults that show that somebody else writes the run by now. */
export const ENDS_RUN: ReadonlySet<FaultCode> = new Set(["EPOCH_OVER", "PREFIX_OF_HUB"]);
/** Faults of the hub, not of the bucket. */
export const IS_HUB: ReadonlySet<FaultCode> = new Set(["HUB_UNREACHABLE", "HUB_NOT_TIDEMARK"]);
/** Faults that a person repairs without telling the node: the clock of the machine, its full disk, its proxy. */
const MENDED: ReadonlySet<FaultCode> = new Set(["CLOCK_SKEW", "NO_SPACE", "PROXY_LOGIN", "PROXY_REFUSED"]);

/** Faults that a person repairs at the store without telling the node: a permission, a key, a bucket that is created again. */
export const MENDED_AT_STORE: ReadonlySet<FaultCode> = new Set(["ACCESS_DENIED", "BAD_CREDENTIALS", "NO_SUCH_BUCKET"]);

/** Returns whether the upload is tried again without a person, however long it takes. */
export const mayRequeue = ({ retry, code }: Fault): boolean => retry !== "never" || MENDED.has(code);
