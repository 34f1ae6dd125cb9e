import type { LogPiece } from "#protocol/jobs/job-log.ts";
import type { LiveLog } from "#protocol/wire/reports.ts";

/**
 * Output of jobs that nodes report while a person reads it. It is in memory only, and only for attempts that somebody asked
 * about a moment ago; what the bucket keeps is read from there.
 */

/** How long after the last question a node is asked for new output. */
const LINGER_MS = 10_000;
/** Most bytes of text of one attempt. */
const MOST_BYTES = 128 * 1024;

interface FollowedLog {
  readonly nodeId: string;
  readonly jobId: string;
  readonly attempt: number;
  /** Epoch ms. Nobody reads it any more then. */
  until: number;
  /** Byte at which the next report should begin. */
  nextByte: number;
  /** Without gaps inside; older text is dropped. */
  pieces: LogPiece[];
}

export type JobLogs = Map<string, FollowedLog>;

const nameOf = ({ jobId, attempt }: { jobId: string; attempt: number }): string => `${jobId} ${attempt}`;

function dropOld(logs: JobLogs, now: number): void {
  for (const [name, { until }] of logs) if (until <= now) logs.delete(name);
}

/** Notes that a person reads the output of an attempt. Returns what its node has reported since the bucket's part ends. */
export function followLog(
  logs: JobLogs,
  { nodeId, jobId, attempt, keptTo }: { nodeId: string; jobId: string; attempt: number; keptTo: number },
  now: number,
): readonly LogPiece[] {
  dropOld(logs, now);
  const name = nameOf({ jobId, attempt });
  const log = logs.get(name) ?? { nodeId, jobId, attempt, until: 0, nextByte: keptTo, pieces: [] };
  log.until = now + LINGER_MS;
  logs.set(name, log);
  return log.pieces;
}

/** Returns the output that a node should report next: nobody reads any when it is undefined. */
export function wantedLog(
  logs: JobLogs,
  nodeId: string,
  now: number,
): { jobId: string; attempt: number; fromByte: number } | undefined {
  if (logs.size === 0) return undefined;
  dropOld(logs, now);
  for (const { nodeId: whose, jobId, attempt, nextByte } of logs.values())
    if (whose === nodeId) return { jobId, attempt, fromByte: nextByte };
  return undefined;
}

/** Takes new output from a report of a node. Ignores output that nobody reads, and of another node. */
export function hearLog(logs: JobLogs, nodeId: string, said: LiveLog): void {
  const log = logs.get(nameOf(said));
  if (log === undefined || log.nodeId !== nodeId || said.fromByte < log.nextByte) return;
  const end = said.fromByte + Buffer.byteLength(said.text);
  log.pieces.push({ fromByte: said.fromByte, text: said.text });
  log.nextByte = end;
  while (log.pieces.length > 1 && end - (log.pieces[1]?.fromByte ?? end) >= MOST_BYTES) log.pieces.shift();
}
