import { promisify } from "node:util";
import { inflate } from "node:zlib";
import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { jobSpec } from "#protocol/jobs/job-spec.ts";
import {
  LOG_ANSWER_BYTES,
  logPartKey,
  type findInLogInput,
  type LogAnswer,
  type LogPiece,
  type readLogInput,
} from "#protocol/jobs/job-log.ts";
import type { Job, JobAttempt, JobLogPart } from "#prisma/client/client.ts";
import { getObjectRange } from "#storage/s3/objects.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { followLog } from "#server/core/live/job-logs.ts";
import { sealingOfRun } from "#server/core/profiles/seal-keys.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { partAt } from "./keep-log-part.ts";

const inflated = promisify(inflate);
const READ_MS = 20_000;

/** An attempt with what is known of its output. */
export interface FoundLog {
  job: Job & { kelpie: object | null };
  /** Null before the first attempt. */
  row: JobAttempt | null;
  parts: JobLogPart[];
  /** New output that its node has reported; empty unless it runs. */
  live: readonly LogPiece[];
}

/** Finds the output of an attempt; of the last one unless one is named. @throws Fault NOT_FOUND */
export async function findLog(
  hub: Hub,
  { id, attempt: named }: Pick<z.infer<typeof findInLogInput>, "id" | "attempt">,
): Promise<FoundLog> {
  const job = await hub.db.job.findUnique({ where: { id }, include: { kelpie: { select: { jobId: true } } } });
  if (job === null) throw new Fault("NOT_FOUND", { subject: "this job" });
  const attempt = named ?? job.attempts;
  const row = await hub.db.jobAttempt.findUnique({ where: { jobId_attempt: { jobId: id, attempt } } });
  if (row === null && named !== undefined) throw new Fault("NOT_FOUND", { subject: `attempt ${named} of this job` });
  const where = { jobId: id, attempt };
  const parts = await hub.db.jobLogPart.findMany({ where, orderBy: { fromByte: "asc" } });
  const node = row === null || row.nodeId === null ? undefined : hub.live.nodes.get(row.nodeId);
  if (node === undefined || row === null || row.endedAt !== null) return { job, row, parts, live: [] };
  hub.live.readClosely(node, hub.now());
  const last = parts.at(-1);
  const keptTo = last === undefined ? 0 : endOf(last);
  const live = followLog(hub.jobs.logs, { nodeId: node.id, jobId: id, attempt, keptTo }, hub.now());
  return { job, row, parts, live };
}

const endOf = ({ fromByte, bytes }: Pick<JobLogPart, "fromByte" | "bytes">): number => Number(fromByte) + bytes;
const endOfPiece = ({ fromByte, text }: LogPiece): number => fromByte + Buffer.byteLength(text);

/** Returns the text behind a byte of the output; begins with a whole character. */
export function textFrom({ fromByte, text }: LogPiece, from: number): LogPiece {
  if (from <= fromByte) return { fromByte, text };
  const bytes = Buffer.from(text);
  let at = from - fromByte;
  // A byte 10xxxxxx continues a character.
  while (at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return { fromByte: fromByte + at, text: bytes.toString("utf8", at) };
}

/** Reads the text of a part from its bucket. Null when it is not there or is no such part: what a node wrote is not trusted. */
export async function readPart(hub: Hub, run: string, part: JobLogPart): Promise<string | null> {
  try {
    const { client, access, prefix } = await hub.stores.open(part.profileId);
    const key = logPartKey(prefix, partAt(run, part));
    const range = { offset: 0, length: part.packedBytes, etag: null, signal: AbortSignal.timeout(READ_MS) };
    const packed = await getObjectRange(client, { bucket: access.bucket, key, ...range });
    const bytes = await inflated(packed, { maxOutputLength: part.bytes });
    return bytes.length === part.bytes ? bytes.toString("utf8") : null;
  } catch (error) {
    hub.log.warn({ error, jobId: part.jobId, attempt: part.attempt }, "a part of a job's log could not be read");
    return null;
  }
}

/** Yields the text behind a byte in order, each byte once. */
export async function* piecesFrom(hub: Hub, { job, parts, live }: FoundLog, from: number): AsyncGenerator<LogPiece> {
  let at = from;
  for (const part of parts) {
    if (endOf(part) <= at) continue;
    const text = await readPart(hub, job.run, part);
    if (text === null) continue;
    yield textFrom({ fromByte: Number(part.fromByte), text }, at);
    at = Math.max(at, endOf(part));
  }
  for (const piece of live) {
    if (endOfPiece(piece) <= at) continue;
    yield textFrom(piece, at);
    at = endOfPiece(piece);
  }
}

async function whyNotKept(hub: Hub, { job, row }: FoundLog): Promise<string | null> {
  if (job.kelpie !== null) return "its Kelpie worker keeps the output to itself";
  if (readStored(job.spec, jobSpec)?.policy.logBytes === 0) return "its policy keeps no output";
  const node = row === null || row.nodeId === null ? undefined : hub.live.nodes.get(row.nodeId);
  if (node === undefined) return null;
  const sealing = await sealingOfRun(hub, { run: job.run, profileId: node.profileId });
  return sealing === "off" ? null : "its checkpoints are encrypted, and output would lie beside them in the clear";
}

/** Returns output of an attempt: what the bucket keeps of it, and what its node reports now. @throws Fault NOT_FOUND */
export async function readLog(hub: Hub, input: z.infer<typeof readLogInput>): Promise<LogAnswer> {
  const found = await findLog(hub, input);
  const { row, parts, live, job } = found;
  const [last, lastLive] = [parts.at(-1), live.at(-1)];
  const known = Math.max(last === undefined ? 0 : endOf(last), lastLive === undefined ? 0 : endOfPiece(lastLive));
  const totalBytes = Math.max(Number(row?.logBytes ?? 0n), known);
  const from = input.fromByte ?? Math.max(0, known - LOG_ANSWER_BYTES);
  const pieces: LogPiece[] = [];
  let bytes = 0;
  let nextByte = from;
  for await (const piece of piecesFrom(hub, found, from)) {
    pieces.push(piece);
    nextByte = endOfPiece(piece);
    bytes += Buffer.byteLength(piece.text);
    if (bytes >= LOG_ANSWER_BYTES) break;
  }
  const [first] = [...parts.map(({ fromByte }) => Number(fromByte)), ...live.map(({ fromByte }) => fromByte)];
  return {
    attempt: row?.attempt ?? job.attempts,
    pieces,
    nextByte,
    totalBytes,
    keptBytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    firstByte: first ?? null,
    isRunning: row !== null && row.endedAt === null,
    whyNotKept: await whyNotKept(hub, found),
  };
}
