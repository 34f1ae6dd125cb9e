import type { FaultData } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { missingAction } from "./missing-action.ts";

/**
 * Any failed call as the fault a person can read. The hub puts one on every error; where there is none, the answer did
 * not come from the hub, or did not come at all.
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
  // An error of the hub without a fault, or an answer that is not the hub's.
  if (typeof fieldOf(data, "code") === "string") return { code: "INTERNAL", detail: messageOf(error) };
  return { code: "HUB_UNREACHABLE" };
}

const isFaultCode = (value: unknown): value is FaultData["code"] =>
  typeof value === "string" && Object.hasOwn(FAULTS, value);

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : undefined;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 300);

/** What happened and what to do, apart: the title and the rest of a note. The subject stands first when there is one. */
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

/** What an address names is not there: nothing has this id, or no id can look like it. */
export const isNotThere = (fault: FaultData): boolean => fault.code === "NOT_FOUND" || fault.code === "BAD_INPUT";

/** The fault of a page whose address names nothing, said about the thing and not about the request. */
export const notThere = (fault: FaultData, thing: string): FaultData =>
  isNotThere(fault) ? { code: "NOT_FOUND", subject: `this ${thing}` } : fault;
