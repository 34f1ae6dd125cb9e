import { setTimeout } from "node:timers/promises";
import type { S3Client } from "@aws-sdk/client-s3";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import type { ProfileCheck } from "#protocol/wire/profile-views.ts";
import { CHECKS, type CheckName } from "./check-list.ts";
import { measureClock, type ClockBounds } from "../answers/clock-skew.ts";
import type { HttpAnswer } from "../answers/faults.ts";
import { afterChecksumAnswer, type ChecksumProbe } from "./probe-traits.ts";
import { sendSigned } from "../s3/send.ts";
import { S3_NAMES, type RequestSource, type StoreAccess } from "../signing/signing.ts";

/**
 * Shared state and helpers of the profile test's checks: sends signed requests, writes one result line per check, and
 * remembers what was created so that it can be removed.
 */

export interface CheckStoreInput {
  client: S3Client;
  access: StoreAccess;
  source: RequestSource;
  fetch: typeof globalThis.fetch;
  /** The profile's prefix: empty, or ending in `/`. */
  prefix: string;
  /** The origin of the hub's pages. The test reports whether a CORS rule allows it. */
  origin?: string;
  now?: () => number;
  /** Longest wait for one answer, ms. */
  timeoutMs?: number;
}

/** After one of these faults no other check can succeed, so the rest are skipped. */
const HOPELESS: ReadonlySet<FaultCode> = new Set<FaultCode>([
  "NO_SUCH_BUCKET",
  "BAD_CREDENTIALS",
  "CREDENTIALS_EXPIRED",
  "CLOCK_SKEW",
  "WRONG_REGION",
  "LINK_DOWN",
  "STALLED",
  "NAME_NOT_RESOLVED",
  "TLS_FAILED",
  "PROXY_FAILED",
  "PROXY_LOGIN",
  "PROXY_REFUSED",
  "ENDPOINT_REFUSED",
  "INTERCEPTED",
]);

export interface Scratch {
  folder: string;
  small: string;
  once: string;
  large: string;
  onceLarge: string;
  dropped: string;
}

export interface Bench extends CheckStoreInput {
  now: () => number;
  timeoutMs: number;
  scratch: Scratch;
  /** Keys that may exist, and upload ids that may be open with their keys. The cleanup removes them. */
  written: Set<string>;
  uploadsStarted: Map<string, string>;
  lines: Map<CheckName, ProfileCheck>;
  /** The checksum kind that the store takes, as far as known. */
  probe: ChecksumProbe;
  clock: ClockBounds | null;
  /** The check whose fault makes all further checks pointless, with that fault's code. */
  hopeless: { check: CheckName; code: FaultCode } | null;
}

/** Idempotent operations. A store may close an idle connection just as it is reused, so these are retried. */
const REPEATABLE: ReadonlySet<Operation["op"]> = new Set(["head", "get", "parts", "part"]);

/** Sends an operation, and retries an idempotent one whose connection was lost. */
async function sendOnce(bench: Bench, operation: Operation, body?: Uint8Array | string): Promise<HttpAnswer> {
  try {
    return await sendNow(bench, operation, body);
  } catch (error) {
    if (!isFault(error) || error.code !== "LINK_DOWN" || !REPEATABLE.has(operation.op)) throw error;
    return await sendNow(bench, operation, body);
  }
}

async function sendNow(bench: Bench, operation: Operation, body?: Uint8Array | string): Promise<HttpAnswer> {
  const [request] = await bench.source.sign([operation]);
  const op = S3_NAMES[operation.op];
  if (request === undefined) throw new Fault("INTERNAL", { op, detail: "nothing was signed" });
  return await sendSigned(request, {
    fetch: bench.fetch,
    op,
    subject: operation.key,
    timeoutMs: bench.timeoutMs,
    ...(body !== undefined && { body }),
  });
}

/** Signs and sends one operation. Uploads carry the best checksum that the store turns out to accept. */
export async function perform(bench: Bench, operation: Operation, body?: Uint8Array | string): Promise<HttpAnswer> {
  const { op, key } = operation;
  if (op !== "create" && op !== "part" && op !== "put") return await sendOnce(bench, operation, body);
  for (;;) {
    const { checksum } = bench.probe;
    const answer = await sendOnce(bench, { ...operation, checksum }, body);
    const sent = { op, checksum, ...(op !== "create" && { crc32: operation.crc32 }) };
    const { probe, verdict } = afterChecksumAnswer(bench.probe, sent, answer);
    bench.probe = probe;
    if (verdict === "wrong") throw new Fault("CHECKSUM_MISMATCH", { op: S3_NAMES[op], subject: key });
    // Each round uses the next weaker checksum, so the loop ends.
    if (verdict === "keep") return answer;
  }
}

const lineOf = (
  name: CheckName,
  rest: Pick<ProfileCheck, "outcome"> & Partial<Omit<ProfileCheck, "operation" | "neededFor" | "missingAction">>,
): ProfileCheck => ({
  operation: name,
  neededFor: CHECKS[name].neededFor,
  missingAction: rest.outcome === "refused" ? CHECKS[name].action : null,
  fault: null,
  rawCode: null,
  httpStatus: null,
  skippedBecause: null,
  note: null,
  tookMs: null,
  ...rest,
});

function outcomeOf(fault: Fault): ProfileCheck["outcome"] {
  if (fault.code === "ACCESS_DENIED") return "refused";
  return fault.code === "UNSUPPORTED" || fault.code === "NOT_FOUND" ? "unsupported" : "failed";
}

/** Writes the result of a check that did not run through `check`. */
export function writeLine(bench: Bench, name: CheckName, rest: Parameters<typeof lineOf>[1]): void {
  bench.lines.set(name, lineOf(name, rest));
}

/** Adds a note to a result line. */
export function addNote(bench: Bench, name: CheckName, note: string): void {
  const line = bench.lines.get(name);
  if (line !== undefined) bench.lines.set(name, { ...line, note });
}

export const isOk = (bench: Bench, name: CheckName): boolean => bench.lines.get(name)?.outcome === "ok";

/** Runs one check and writes its line. Returns its result, or null when it was skipped or failed. */
export async function check<T>(bench: Bench, name: CheckName, work: () => Promise<T>): Promise<T | null> {
  const missing = bench.hopeless?.check ?? CHECKS[name].after.find((earlier) => !isOk(bench, earlier));
  if (missing !== undefined) {
    // Names the root cause: the check that made the earlier one skip.
    const because = bench.lines.get(missing)?.skippedBecause ?? missing;
    writeLine(bench, name, { outcome: "skipped", skippedBecause: because });
    return null;
  }
  const startedAt = bench.now();
  try {
    const found = await work();
    writeLine(bench, name, { outcome: "ok", tookMs: bench.now() - startedAt });
    return found;
  } catch (error) {
    const fault = toFault(error, { op: name });
    if (HOPELESS.has(fault.code)) bench.hopeless = { check: name, code: fault.code };
    const { storeCode = null, status = null } = fault.context;
    writeLine(bench, name, {
      outcome: outcomeOf(fault),
      fault: fault.toData(),
      rawCode: storeCode,
      httpStatus: status,
      tookMs: bench.now() - startedAt,
    });
    return null;
  }
}

/** Returns the bounds of the store's clock from the Date of one answer; null without an answer. */
export async function measureSkew(bench: Bench): Promise<ClockBounds | null> {
  const sentAtMs = bench.now();
  try {
    const answer = await sendOnce(bench, { op: "head", key: bench.scratch.small });
    return measureClock(null, { sentAtMs, receivedAtMs: bench.now(), date: answer.headers["date"] });
  } catch {
    // No answer arrived; the first check reports the reason.
    return null;
  }
}

/** R2 and Spaces allow one write per second and key. */
const WRITE_GAP_MS = 1100;
const MOST_WRITES = 3;

/** Retries throttled work. Some stores allow one write per second and key, and here the second write is intended. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isFault(error) || error.code !== "THROTTLED" || tries >= MOST_WRITES) throw error;
      await setTimeout(error.context.retryAfterMs ?? WRITE_GAP_MS);
    }
  }
}

/** Succeeds when the work fails with this code. Rejects with UNSUPPORTED when the store lets it through. */
export async function expectFault(code: FaultCode, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isFault(error) && error.code === code) return;
    throw error;
  }
  throw new Fault("UNSUPPORTED", { detail: "the store ignores the condition" });
}
