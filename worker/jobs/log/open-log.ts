import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { deflate } from "node:zlib";
import type { JobSpec } from "#protocol/jobs/job-spec.ts";
import { logPartKey } from "#protocol/jobs/job-log.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { Agent } from "../../agent/agent-assemble.ts";
import type { Clock } from "../../base/clock.ts";
import { createPatience } from "../../transfer/store-session/retry.ts";
import { heldSource } from "../../transfer/upload/held-source.ts";
import { rememberHere } from "../../transfer/upload/send-memory.ts";
import { sendWhole } from "../../transfer/upload/send.ts";
import { openJobEngine, type JobEngine } from "../bytes/job-engine.ts";
import { createLogUploader, type LogUploader, type LogPart } from "./upload-log.ts";

const deflated = promisify(deflate);
const CONNECTIONS = 1;
const MEMORY_BYTES = 2 * 1024 * 1024;

export interface OpenLog {
  uploader: LogUploader;
  close(): Promise<void>;
}

/**
 * Opens the log of an attempt. Without a bucket, at a hub that knows no logs, and where checkpoints are encrypted, nothing is
 * stored: the output is then shown only while it is new.
 */
export function openLog(
  agent: Agent,
  job: TakenJob,
  { spec: { policy }, clock }: { spec: JobSpec; clock: Clock },
): OpenLog {
  const { session, reporter } = agent;
  // An agent that has just started has heard nothing of its hub yet.
  const storeNow = () => {
    const { store } = session;
    const isAllowed = (store?.sealing ?? null) === null && session.knows("job-bytes") === true;
    return isAllowed ? store : null;
  };
  let opened: JobEngine | null = null;
  const engineOf = (to: NodeStore) =>
    (opened ??= openJobEngine(agent, job, {
      part: { kind: "log" },
      store: to,
      direction: "up",
      connections: CONNECTIONS,
      memoryBytes: MEMORY_BYTES,
    }));
  const uploader = createLogUploader({
    mostBytes: () => (storeNow() === null ? 0 : policy.logBytes),
    clock,
    store: async (part, signal) => {
      const store = storeNow();
      if (store === null) return;
      await storePart({ agent, job, prefix: store.prefix }, { part, open: engineOf(store), signal });
    },
    onTrouble: (error) => {
      // Output that is missing at the end is told with the log.
      if (!isFault(error) || error.code !== "CANCELLED") reporter.waitingFor(error);
    },
  });
  agent.jobLog = {
    wanted: undefined,
    text: (fromByte) => {
      const piece = uploader.textFrom(fromByte);
      return piece === null ? null : { jobId: job.id, attempt: job.attempt, ...piece };
    },
  };
  return {
    uploader,
    close: async () => {
      agent.jobLog = null;
      await opened?.close();
    },
  };
}

async function storePart(
  { agent, job, prefix }: { agent: Agent; job: TakenJob; prefix: string },
  { part, open, signal }: { part: LogPart; open: JobEngine; signal: AbortSignal },
): Promise<void> {
  const { id: jobId, attempt, epoch, run } = job;
  const { fromByte, text, totalBytes } = part;
  const packed = await deflated(text);
  const key = logPartKey(prefix, { run, jobId, attempt, fromByte, bytes: text.length });
  const source = heldSource(key, () => packed);
  const whole = { partNumber: 1, offset: 0, length: packed.length };
  try {
    await sendWhole(
      open.engine,
      {
        path: key,
        key,
        plan: { partBytes: packed.length, parts: [whole] },
        nonce: randomBytes(16).toString("hex"),
        knownSums: () => null,
        memory: rememberHere(),
        watch: {
          signal,
          patience: createPatience(open.engine.retrier.clock),
          onMoved: () => undefined,
          onPart: () => undefined,
          onRetry: () => undefined,
        },
      },
      { source, wasTried: false },
    );
  } catch (error) {
    // The same part was sent before, and its answer or that of the hub was lost.
    if (!isFault(error) || error.code !== "ALREADY_EXISTS") throw error;
  }
  const told = { jobId, attempt, epoch, totalBytes, fromByte, bytes: text.length, packedBytes: packed.length };
  await agent.hub.ask("keepLogPart", (client, limit) =>
    client.node.keepLogPart.mutate(told, { signal: AbortSignal.any([limit, signal]) }),
  );
  if (signal.aborted) throw new Fault("CANCELLED");
}
