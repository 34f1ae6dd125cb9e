import type { FaultData } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { missingAction } from "./missing-action.ts";

/**
 * Converts the error of any failed call into a fault. The hub attaches a fault to every error. An error without one did not
 * come from the hub, or no answer came at all.
 */
export function faultOf(error: unknown): FaultData {
  const data = fieldOf(error, "data");
  const fault = fieldOf(data, "fault");
  const code = fieldOf(fault, "code");
  if (isFaultCode(code)) {
    const read: FaultData = { code };
    for (const key of ["op", "subject", "detail", "requestId"] as const) {
      const value = fieldOf(fault, key);
      if (typeof value === "string") read[key] = value;
    }
    const status = fieldOf(fault, "status");
    if (typeof status === "number") read.status = status;
    return read;
  }
  // An error answer without a fault, from the hub or from another server.
  if (typeof fieldOf(data, "code") === "string") return { code: "INTERNAL", detail: messageOf(error) };
  return { code: "HUB_UNREACHABLE" };
}

const isFaultCode = (value: unknown): value is FaultData["code"] =>
  typeof value === "string" && Object.hasOwn(FAULTS, value);

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : undefined;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 300);

/** Returns the title and the advice of a fault. The title begins with the subject when there is one. */
export function wordsOf(fault: FaultData): { says: string; next: string } {
  const { says, next } = FAULTS[fault.code];
  const subject = fault.subject === undefined ? "" : `${fault.subject}: `;
  const detail = fault.detail === undefined ? "" : ` (${fault.detail})`;
  const missing = fault.code === "ACCESS_DENIED" ? missingAction(fault.op) : null;
  return {
    says: `${subject}${says.replace(/\.$/, "")}${detail}.`,
    next: missing === null ? next : `Give the key the permission ${missing}; the profile test tries all of them.`,
  };
}

/** Returns whether a fault says that an address names nothing: an unknown id, or text that cannot be an id. */
export const isNotThere = (fault: FaultData): boolean => fault.code === "NOT_FOUND" || fault.code === "BAD_INPUT";

/** Returns the fault of a page whose address names nothing, phrased about the thing instead of the request. */
export const notThere = (fault: FaultData, thing: string): FaultData =>
  isNotThere(fault) ? { code: "NOT_FOUND", subject: `this ${thing}` } : fault;
