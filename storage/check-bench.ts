import type { S3Client } from "@aws-sdk/client-s3";
import { Fault, isFault, toFault } from "#protocol/fault.ts";
import type { FaultCode } from "#protocol/fault-table.ts";
import type { Operation } from "#protocol/operations.ts";
import type { ProfileCheck } from "#protocol/views.ts";
import { CHECKS, type CheckName } from "./check-list.ts";
import { clockOffsetMs, measureClock } from "./clock-skew.ts";
import type { HttpAnswer } from "./faults.ts";
import { sendSigned } from "./send.ts";
import { S3_NAMES, type RequestSource, type StoreAccess } from "./signing.ts";

/**
 * What the checks of the profile test stand on: one signed request at a time, one line per check, and the memory of what
 * was written so that it can be removed.
 */

export interface CheckStoreInput {
  client: S3Client;
  access: StoreAccess;
  source: RequestSource;
  fetch: typeof globalThis.fetch;
  /** The profile's prefix: empty, or ending in `/`. */
  prefix: string;
  now?: () => number;
  /** Longest wait for one answer. */
  timeoutMs?: number;
}

/** After one of these nothing else can succeed, so the rest is not tried. */
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
  "ENDPOINT_REFUSED",
  "INTERCEPTED",
]);

export interface Scratch {
  folder: string;
  small: string;
  once: string;
  large: string;
  dropped: string;
}

export interface Bench extends CheckStoreInput {
  now: () => number;
  timeoutMs: number;
  scratch: Scratch;
  /** Keys that may exist and uploads that may be open: what has to be cleaned up. */
  written: Set<string>;
  uploadsStarted: Set<string>;
  lines: Map<CheckName, ProfileCheck>;
  hopeless: boolean;
}

/** Signs one operation and sends it. */
export async function perform(bench: Bench, operation: Operation, body?: Uint8Array | string): Promise<HttpAnswer> {
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

const lineOf = (name: CheckName, rest: Pick<ProfileCheck, "outcome" | "fault" | "tookMs">): ProfileCheck => ({
  operation: name,
  neededFor: CHECKS[name].neededFor,
  missingAction: rest.outcome === "refused" ? CHECKS[name].action : null,
  ...rest,
});

function outcomeOf(fault: Fault): ProfileCheck["outcome"] {
  if (fault.code === "ACCESS_DENIED") return "refused";
  return fault.code === "UNSUPPORTED" || fault.code === "NOT_FOUND" ? "unsupported" : "failed";
}

/** Runs one check and writes its line; gives what it found, or null when it was skipped or did not succeed. */
export async function check<T>(bench: Bench, name: CheckName, work: () => Promise<T>): Promise<T | null> {
  const missing = CHECKS[name].after.some((earlier) => bench.lines.get(earlier)?.outcome !== "ok");
  if (bench.hopeless || missing) {
    bench.lines.set(name, lineOf(name, { outcome: "skipped", fault: null, tookMs: null }));
    return null;
  }
  const startedAt = bench.now();
  try {
    const found = await work();
    bench.lines.set(name, lineOf(name, { outcome: "ok", fault: null, tookMs: bench.now() - startedAt }));
    return found;
  } catch (error) {
    const fault = toFault(error, { op: name });
    bench.hopeless = HOPELESS.has(fault.code);
    const line = { outcome: outcomeOf(fault), fault: fault.toData(), tookMs: bench.now() - startedAt };
    bench.lines.set(name, lineOf(name, line));
    return null;
  }
}

/** The store's clock minus ours, from the Date of any answer; null when there is none. */
export async function measureSkew(bench: Bench): Promise<number | null> {
  const sentAt = bench.now();
  try {
    const answer = await perform(bench, { op: "head", key: bench.scratch.small });
    const times = { sentAtMs: sentAt, receivedAtMs: bench.now() };
    const known = measureClock(null, { ...times, date: answer.headers["date"] });
    return known === null ? null : clockOffsetMs(known);
  } catch {
    // No answer at all: the first check says why.
    return null;
  }
}

/** Succeeds when the work is refused with this code; UNSUPPORTED when it is let through. */
export async function expectFault(code: FaultCode, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isFault(error) && error.code === code) return;
    throw error;
  }
  throw new Fault("UNSUPPORTED", { detail: "the store ignores the condition" });
}
