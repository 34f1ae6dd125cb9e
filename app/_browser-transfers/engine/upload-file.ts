import type { FinishedUpload, UploadedPart } from "#protocol/buckets/browser-transfers.ts";
import { Fault, faultFrom, isFault } from "#protocol/faults/fault.ts";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import { faultOfAnswer, type PlainAnswer } from "#storage/answers/faults.ts";
import { cutEvenly, type PlannedPart } from "#storage/s3/plan.ts";
import { looksLikeHtml } from "#storage/answers/xml.ts";
import type { Gate } from "./gate.ts";
import { keepTrying, type Patience } from "./keep-trying.ts";

/**
 * Uploads one file from a browser to a bucket. Parts are read, summed, signed and sent independently, as many at a time as the
 * gate allows. Parts in the store's list are not sent again. The file is done only when the hub says so, after it has checked
 * the object.
 */

export interface UploadTools {
  sign: (id: string, parts: { partNumber: number; crc32: string }[]) => Promise<SignedRequest[]>;
  listParts: (id: string) => Promise<UploadedPart[]>;
  finish: (id: string, sums: string[]) => Promise<FinishedUpload>;
  /** Sends a body; `onSent` reports how many of its bytes have left. @throws Fault LINK_DOWN, STALLED, CANCELLED */
  put: (
    request: SignedRequest,
    body: Blob,
    watch: { onSent: (bytes: number) => void; signal: AbortSignal },
  ) => Promise<PlainAnswer>;
  /** Returns the CRC32, hex. @throws Fault SOURCE_CHANGED */
  sum: (blob: Blob, signal: AbortSignal) => Promise<string>;
  gate: Gate;
  patience: Omit<Patience, "signal" | "onFault">;
  /** Called with every fault that is retried. Its rejection fails the file. */
  onFault: (fault: Fault) => Promise<void>;
}

export interface UploadInput {
  /** The hub's id of this upload. */
  id: string;
  key: string;
  partBytes: number;
  file: Blob;
  /** `fresh`: just begun, so the store has no parts to list. */
  from: "fresh" | "resumed";
  signal: AbortSignal;
  /** Checked before the upload is completed. @throws Fault SOURCE_CHANGED */
  assertSame: () => Promise<void>;
  onChange: (progress: UploadProgress) => void;
}

export interface UploadProgress {
  /** One entry per part: `.` waiting, `>` being sent, `#` acknowledged. */
  parts: readonly string[];
  /** Bytes of acknowledged parts, and the sent bytes of parts in flight. */
  bytesDone: number;
  /** Parts that were already in the store when this upload resumed. */
  reused: number;
}

/** Parts prepared before a connection is free for them. */
const SIGNED_AHEAD = 4;
/** Shortest remaining validity of an early signature, in milliseconds. */
const SIGNED_FOR_MS = 30_000;
/** Gives up after this many completions in which the store reported missing parts. */
const MOST_ROUNDS = 5;

function readPutAnswer(answer: PlainAnswer, request: SignedRequest, about: { op: string; key: string }): void {
  const { status, headers, body } = answer;
  const isBlank = /^\s*$/.test(new TextDecoder().decode(body));
  if (status === 200 && isBlank && !looksLikeHtml(headers["content-type"], body)) return;
  throw faultOfAnswer({ op: about.op, subject: about.key, answer, expiresAt: request.expiresAt });
}

/**
 * Sends the parts that the store lacks and completes the upload.
 * @throws Fault NO_SUCH_UPLOAD (start over), ALREADY_EXISTS, SOURCE_CHANGED and others
 */
export async function uploadFile(input: UploadInput, tools: UploadTools): Promise<{ etag: string }> {
  const { id, key, partBytes, file, signal } = input;
  const cut = cutEvenly(file.size, partBytes);
  const parts: PlannedPart[] = cut.length === 0 ? [{ partNumber: 1, offset: 0, length: 0 }] : cut;
  const states = parts.map(() => ".");
  const sums = parts.map(() => "");
  const sent = parts.map(() => 0);
  let reused = 0;
  let bytesDone = 0;
  const count = (partNumber: number, bytes: number): void => {
    bytesDone += bytes - (sent[partNumber - 1] ?? 0);
    sent[partNumber - 1] = bytes;
    input.onChange({ parts: states, bytesDone, reused });
  };
  const patience: Patience = { ...tools.patience, signal, onFault: tools.onFault };
  const mark = ({ partNumber, length }: PlannedPart, state: string): void => {
    states[partNumber - 1] = state;
    count(partNumber, state === "#" ? length : 0);
  };

  const takeListed = async (): Promise<void> => {
    for (const { partNumber, crc32 } of await keepTrying(() => tools.listParts(id), patience)) {
      const part = parts[partNumber - 1];
      if (part === undefined || states[partNumber - 1] === "#") continue;
      if (crc32 !== null) sums[partNumber - 1] = crc32;
      reused++;
      mark(part, "#");
    }
  };
  const bodyOf = ({ offset, length }: PlannedPart): Blob => file.slice(offset, offset + length);
  const signOnce = async (part: PlannedPart): Promise<SignedRequest> => {
    const { partNumber } = part;
    const crc32 = await tools.sum(bodyOf(part), signal);
    sums[partNumber - 1] = crc32;
    const [request] = await tools.sign(id, [{ partNumber, crc32 }]);
    if (request === undefined) throw new Fault("INTERNAL", { op: "sign", subject: key });
    return request;
  };
  /** Parts read, summed and signed while others are being sent, so that no connection waits for the hub. */
  const ahead = new Map<number, Promise<SignedRequest>>();
  const lookAhead = (from: number): void => {
    for (const next of parts.slice(from, from + SIGNED_AHEAD)) {
      if (states[next.partNumber - 1] !== "." || ahead.has(next.partNumber)) continue;
      const signing = signOnce(next);
      // Handled when its turn comes; this prevents an unhandled rejection.
      signing.catch(() => undefined);
      ahead.set(next.partNumber, signing);
    }
  };
  const signedFor = async (part: PlannedPart): Promise<SignedRequest> => {
    const early = await ahead.get(part.partNumber)?.catch(() => null);
    ahead.delete(part.partNumber);
    const isFresh = early != null && early.expiresAt - SIGNED_FOR_MS > tools.patience.now();
    return isFresh ? early : signOnce(part);
  };
  const sendOnce = async (part: PlannedPart): Promise<void> => {
    const { partNumber, length } = part;
    const body = bodyOf(part);
    const mine = signedFor(part);
    lookAhead(partNumber);
    const request = await mine;
    let before = 0;
    const onSent = (bytes: number): void => {
      tools.gate.moved(bytes - before);
      before = bytes;
      count(partNumber, bytes);
    };
    const answer = await tools.put(request, body, { onSent, signal });
    readPutAnswer(answer, request, { op: parts.length > 1 ? "UploadPart" : "PutObject", key });
    if (before < length) tools.gate.moved(length - before);
  };
  const sendPart = (part: PlannedPart): Promise<void> =>
    keepTrying(
      () =>
        tools.gate.run(async () => {
          mark(part, ">");
          try {
            await sendOnce(part);
          } catch (error) {
            mark(part, ".");
            if (isFault(error) && error.retry === "backoff") tools.gate.trouble();
            throw error;
          }
          mark(part, "#");
        }, signal),
      patience,
    );
  const sendMissing = async (): Promise<void> => {
    const missing = parts.filter(({ partNumber }) => states[partNumber - 1] !== "#");
    // Prepares the first parts before the gate admits them. Thousands of small files have one part each.
    if (missing[0] !== undefined) lookAhead(missing[0].partNumber - 1);
    const results = await Promise.allSettled(missing.map(sendPart));
    const faults = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    const [fault] = faults;
    // The object may stem from an earlier try whose answer was lost; the hub finds out.
    if (parts.length === 1 && isFault(fault) && fault.code === "ALREADY_EXISTS") return;
    if (fault !== undefined) throw fault;
  };

  if (input.from === "resumed") await takeListed();
  for (let round = 1; ; round++) {
    await sendMissing();
    await input.assertSame();
    const finished = await keepTrying(async () => {
      const answer = await tools.finish(id, sums.every((sum) => sum !== "") ? sums : []);
      if (answer.outcome === "failed") throw faultFrom(answer.fault, "complete the upload");
      return answer;
    }, patience);
    if (finished.outcome === "done") return { etag: finished.etag };
    if (parts.length === 1 && states[0] !== "#") throw new Fault("ALREADY_EXISTS", { op: "PutObject", subject: key });
    if (round >= MOST_ROUNDS) throw new Fault("STORE_UNAVAILABLE", { op: "complete the upload", subject: key });
    for (const partNumber of finished.partNumbers) {
      const part = parts[partNumber - 1];
      if (part !== undefined) mark(part, ".");
    }
  }
}
