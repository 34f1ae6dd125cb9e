import type { JobPart } from "#protocol/jobs/job-bytes.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import type { Agent } from "../../agent/agent-assemble.ts";
import { systemClock } from "../../base/clock.ts";
import type { Hub } from "../../hub-link/hub.ts";
import { createEngine, type Engine } from "../../transfer/engine.ts";
import { createRetrier } from "../../transfer/store-session/retry.ts";
import type { RequestSource } from "#storage/signing/signing.ts";

/** An attempt that this node has the lease of; attempt and epoch null: the job that `node.nextJob` told it of. */
export interface LeasedJob {
  id: TakenJob["id"];
  attempt: number | null;
  epoch: number | null;
}

/** Creates a request source for what a job names. @throws Faults of `node.signForJob`, HUB_UNREACHABLE */
const createJobSource = (hub: Hub, { id: jobId, attempt, epoch }: LeasedJob, part: JobPart): RequestSource => ({
  sign: async (operations) => {
    const wanted = { jobId, attempt, epoch, part, operations: [...operations] };
    const { requests } = await hub.ask("signForJob", (client, signal) =>
      client.node.signForJob.mutate(wanted, { signal }),
    );
    return requests;
  },
});

export interface JobEngine {
  engine: Engine;
  close(): Promise<void>;
}

/** Opens an engine for bytes of a job beside its checkpoints, under the limits of this node. */
export function openJobEngine(
  { hub, options, session, throttle }: Pick<Agent, "hub" | "options" | "session" | "throttle">,
  job: LeasedJob,
  about: {
    part: JobPart;
    store: Pick<NodeStore, "traits" | "endpoint" | "trust">;
    direction: "up" | "down";
    connections: number | null;
    memoryBytes: number;
  },
): JobEngine {
  const { part, store, direction, connections, memoryBytes } = about;
  const engine = createEngine({
    source: createJobSource(hub, job, part),
    traits: store.traits,
    trust: store.trust,
    retrier: createRetrier(systemClock, options.patienceMs),
    connections,
    memoryBytes,
    signerNow: session.hubNow,
    idleMs: options.idleMs,
    direction,
    limitBytesPerSecond: 0,
  });
  const release = throttle.govern({ ...engine, direction, endpoint: () => store.endpoint });
  return {
    engine,
    close: async () => {
      release();
      await engine.close();
    },
  };
}
