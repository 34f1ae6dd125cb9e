import { deflateSync } from "node:zlib";
import { logPartKey } from "#protocol/jobs/job-log.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import type { Hub } from "../core/api/hub.ts";
import { callAs, type TestNode } from "./open-test-hub.ts";

/** For tests: makes the calls of a worker for one part of a job's log. */

export const partKey = ({ run, id: jobId, attempt }: TakenJob, fromByte: number, text: string): string =>
  logPartKey("team/", { run, jobId, attempt, fromByte, bytes: Buffer.byteLength(text) });

/** Puts a part into the bucket with a request that the hub signed, and tells the hub of it. */
export async function storePart(
  hub: Hub,
  { who, job }: { who: TestNode; job: TakenJob },
  { fromByte, text, totalBytes }: { fromByte: number; text: string; totalBytes?: number },
): Promise<void> {
  const { id: jobId, attempt, epoch } = job;
  const packed = deflateSync(text);
  const sums = { sizeBytes: packed.length, crc32: crc32Hex(packed), nonce: "n" };
  const key = partKey(job, fromByte, text);
  const { node } = callAs(hub, who.caller);
  const signed = await node.signForJob({
    jobId,
    attempt,
    epoch,
    part: { kind: "log" },
    operations: [{ op: "put", key, ...sums }],
  });
  for (const { url, method, headers: given } of signed.requests) {
    const { "content-length": _, ...headers } = given;
    const answer = await fetch(url, { method, headers, body: packed });
    if (!answer.ok) throw new Error(`PUT ${answer.status}: ${await answer.text()}`);
  }
  const bytes = Buffer.byteLength(text);
  const told = { fromByte, bytes, packedBytes: packed.length, totalBytes: totalBytes ?? fromByte + bytes };
  await node.keepLogPart({ jobId, attempt, epoch, ...told });
}
