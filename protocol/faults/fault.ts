import type { Retry } from "./fault-row.ts";
import { FAULTS, type FaultCode } from "./fault-table.ts";
import { visibleText } from "../base/visible-text.ts";

/**
 * Every error that crosses a boundary between processes or modules is a Fault: a value with a code from fault-table.ts. The
 * code determines the retry, the HTTP status, the exit code and the sentence that a person reads. No code matches on message
 * text.
 */

/**
 * A Fault on the wire and in the database; `fault-data.ts` parses it. `detail` and `subject` are untrusted text: show them,
 * never interpret them.
 */
export interface FaultData {
  code: FaultCode;
  op?: string | undefined;
  subject?: string | undefined;
  detail?: string | undefined;
  status?: number | undefined;
  requestId?: string | undefined;
}

export interface FaultContext {
  /** Name of the operation: `UploadPart`, `enrol`, `restore`. */
  op?: string;
  /** The object concerned: a key, a path, an address. Never a secret or a signed URL. */
  subject?: string;
  /** One more helpful fact: a number, a limit, the store's own code. */
  detail?: string;
  status?: number;
  /** The store's own error code. Not part of the data that is sent, because `detail` begins with it. */
  storeCode?: string;
  requestId?: string;
  retryAfterMs?: number;
  cause?: unknown;
}

export class Fault extends Error {
  readonly code: FaultCode;
  readonly context: FaultContext;

  constructor(code: FaultCode, context: FaultContext = {}) {
    super(code, { cause: context.cause });
    this.name = "Fault";
    this.code = code;
    this.context = context;
    this.message = sentenceOf(this.toData());
  }

  get retry(): Retry {
    return FAULTS[this.code].retry;
  }

  toData(): FaultData {
    const { op, subject, detail, status, requestId } = this.context;
    const data: FaultData = { code: this.code };
    if (op !== undefined) data.op = op.slice(0, 64);
    if (subject !== undefined) data.subject = subject.slice(0, 1024);
    if (detail !== undefined) data.detail = detail.slice(0, 2048);
    if (status !== undefined) data.status = status;
    if (requestId !== undefined) data.requestId = requestId.slice(0, 256);
    return data;
  }
}

/**
 * Returns what happened, why, and what to do: the text shown on a terminal and in the UI. It contains untrusted names of
 * objects, paths and answers of stores, so control characters are escaped.
 */
export function sentenceOf(data: FaultData): string {
  const { says, next } = FAULTS[data.code];
  const subject = data.subject === undefined ? "" : `${visibleText(data.subject)}: `;
  const detail = data.detail === undefined ? "" : ` (${visibleText(data.detail)})`;
  return `${subject}${says.replace(/\.$/, "")}${detail}. ${next}`;
}

/** Restores a Fault from the data that `toData` gave. `op` is used when the data has none. */
export function faultFrom({ code, ...told }: FaultData, op?: string): Fault {
  const known = Object.entries({ op, ...told }).filter(([, value]) => value !== undefined);
  return new Fault(code, Object.fromEntries(known));
}

/** Returns whether the bytes are archived and unreadable until the store has restored them. */
export const isArchivedCode = (code: FaultCode): boolean =>
  code === "OBJECT_ARCHIVED" || code === "OBJECT_BEING_RESTORED";

export const isFault = (error: unknown): error is Fault => error instanceof Fault;

/** Converts any thrown value to a Fault: values that are not Faults become INTERNAL with the original as cause. */
export function toFault(error: unknown, context: FaultContext = {}): Fault {
  if (isFault(error)) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Fault("INTERNAL", { detail, ...context, cause: error });
}
