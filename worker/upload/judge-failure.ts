import type { Fault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";

/** The store does not have what was sent. */
export const LOST: ReadonlySet<FaultCode> = new Set([
  "NO_SUCH_KEY",
  "SIZE_MISMATCH",
  "OBJECT_CHANGED",
  "ALREADY_EXISTS",
]);
/** The hub does not know the announcement: it was restored from a backup that is older. */
export const FORGOTTEN: ReadonlySet<FaultCode> = new Set(["NOT_THIS_NODES", "NOT_FOUND"]);
/** It is the hub that is away, not the bucket. */
export const IS_HUB: ReadonlySet<FaultCode> = new Set(["HUB_UNREACHABLE", "HUB_NOT_TIDEMARK"]);
/** A person mends it, and need not say so: the clock of the machine, its full disk, its proxy. */
const MENDED: ReadonlySet<FaultCode> = new Set(["CLOCK_SKEW", "NO_SPACE", "PROXY_LOGIN", "PROXY_REFUSED"]);

/** A person mends it at the store, and nothing tells the node: a permission, a key, a bucket that is made again. */
export const MENDED_AT_STORE: ReadonlySet<FaultCode> = new Set(["ACCESS_DENIED", "BAD_CREDENTIALS", "NO_SUCH_BUCKET"]);

/** Whether the upload should be tried again by itself, however long it takes. */
export const mayRequeue = ({ retry, code }: Fault): boolean => retry !== "never" || MENDED.has(code);
