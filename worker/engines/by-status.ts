import type { FaultCode } from "#protocol/faults/fault-table.ts";

/** Fault codes for HTTP statuses, where an engine reports nothing more precise. */
export const BY_STATUS: Readonly<Record<number, FaultCode>> = {
  401: "BAD_CREDENTIALS",
  403: "ACCESS_DENIED",
  404: "NO_SUCH_KEY",
  412: "OBJECT_CHANGED",
  429: "THROTTLED",
  500: "STORE_UNAVAILABLE",
  502: "STORE_UNAVAILABLE",
  503: "STORE_UNAVAILABLE",
  504: "STORE_UNAVAILABLE",
};
