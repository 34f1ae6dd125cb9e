import type { Retry } from "./fault-row.ts";
import { FAULTS, type FaultCode } from "./fault-table.ts";
import { visibleLines, visibleText } from "../base/visible-text.ts";

/**
 * Every error that crosses a border in Tidemark is a Fault: a value with a code from the one table in fault-table.ts, which
 * says how to retry it, which HTTP status and exit code it becomes, and the sentence a person reads. Nothing anywhere
 * decides by matching message text.
 */

/**
 * A Fault on the wire and in the database; `fault-data.ts` parses it. `detail` and `subject` are text from strangers:
 * show them, never interpret them.
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
  /** The operation in words of the field: `UploadPart`, `enrol`, `restore`. */
  op?: string;
  /** What it was about: a key, a path, an address. Never a secret or a signed URL. */
  subject?: string;
  /** One more fact that helps: a number, a limit, the store's own code. */
  detail?: string;
  status?: number;
  /** The store's own error code. Not sent along: `detail` begins with it. */
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
 * Returns what happened, why, and what to do: the one sentence shown on a terminal and in the UI. Names of objects, paths and
 * answers of stores are in it, which strangers choose, so that what a terminal would obey is written as an escape.
 */
export function sentenceOf(data: FaultData): string {
  const { says, next } = FAULTS[data.code];
  const subject = data.subject === undefined ? "" : `${visibleText(data.subject)}: `;
  const detail = data.detail === undefined ? "" : ` (${visibleLines(data.detail)})`;
  return `${subject}${says.replace(/\.$/, "")}${detail}. ${next}`;
}

/** The fault that `toData` told elsewhere. `op` names what was asked for where the data does not. */
export function faultFrom({ code, ...told }: FaultData, op?: string): Fault {
  const known = Object.entries({ op, ...told }).filter(([, value]) => value !== undefined);
  return new Fault(code, Object.fromEntries(known));
}

export const isFault = (error: unknown): error is Fault => error instanceof Fault;

/** Any thrown value as a Fault. What is not one already becomes INTERNAL with the original as cause. */
export function toFault(error: unknown, context: FaultContext = {}): Fault {
  if (isFault(error)) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Fault("INTERNAL", { detail, ...context, cause: error });
}
