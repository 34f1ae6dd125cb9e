import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { parseArgs } from "node:util";
import { z } from "zod";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { addToken } from "#e2e/stage/provision.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { LONGEST_TAKE_SECONDS } from "#protocol/jobs/node-jobs.ts";
import { formatCount } from "#protocol/base/units.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { BenchError } from "../bench-error.ts";
import { percentile } from "../fleet/percentile.ts";
import { callHub, type HubAddress } from "../fleet/talk.ts";
import { usageOf } from "../fleet/watch-process.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";

/** `npm run bench -- jobs`: measures how long a claim takes over a long queue, and what idle workers cost the hub. */

const HELP = `npm run bench -- jobs [--jobs N] [--claims N] [--claimers N] [--idle N] [--seconds S]

  --jobs N       jobs that wait in the queue (100000)
  --claims N     jobs that are claimed and ended (500)
  --claimers N   nodes that claim at the same time (8)
  --idle N       workers that wait for a job in long polls (500)
  --seconds S    how long the idle workers are measured (60)`;

const AT_ONCE = 1_000;
/** Idle workers of the projection. */
const PROJECTED = 10_000;
const LANES = 16;

interface Node {
  credential: string;
  bootId: string;
}

const FACTS = {
  hostname: "bench",
  platform: "linux",
  cpus: 1,
  memoryBytes: 1,
  gpu: null,
  labels: {},
  workerVersion: "0",
};
const enrolled = z.object({ credential: z.string() });
const taken = z.object({ job: z.object({ id: z.string(), attempt: z.number(), epoch: z.number() }).nullable() });

async function enrol(hub: HubAddress, { token, name }: { token: string; name: string }): Promise<Node> {
  const facts = { ...FACTS, machineId: null };
  const answer = await callHub(hub, { path: "node.enrol", body: { token, name, protocol: PROTOCOL_VERSION, facts } });
  const { credential } = enrolled.parse(answer);
  const bootId = randomUUID();
  await callHub(hub, { path: "node.hello", body: { protocol: PROTOCOL_VERSION, bootId, facts }, credential });
  return { credential, bootId };
}

async function enrolAll(
  stage: Stage,
  hub: HubAddress,
  { count, name }: { count: number; name: string },
): Promise<Node[]> {
  const token = await addToken(stage.client, { profileId: stage.profileId, maxUses: count });
  const nodes: Node[] = [];
  const names = Array.from({ length: count }, (_, at) => `${name}-${at}`);
  await forEachOf(names, LANES, async (one) => void nodes.push(await enrol(hub, { token, name: one })));
  return nodes;
}

const take = async (hub: HubAddress, { credential, bootId }: Node, about: { queue: string; waitSeconds: number }) => {
  const body = { bootId, holds: [], movesBytes: true, ...about };
  return taken.parse(await callHub(hub, { path: "node.takeJob", body, credential })).job;
};

/** Claims and ends jobs until this many were claimed. Returns how long each claim took, ms. @throws BenchError when a claim finds none */
async function claimAll(hub: HubAddress, nodes: readonly Node[], claims: number): Promise<number[]> {
  const times: number[] = [];
  let left = claims;
  await Promise.all(
    nodes.map(async (node) => {
      while (left-- > 0) {
        const startedAt = performance.now();
        const job = await take(hub, node, { queue: "long", waitSeconds: 0 });
        times.push(performance.now() - startedAt);
        if (job === null) throw new BenchError("A claim found no job in a queue that has many.");
        const { id: jobId, attempt, epoch } = job;
        const steps = { fromStep: null, toStep: null, safeStep: null };
        const exit = { kind: "exited", code: 0 };
        const body = { jobId, attempt, epoch, exit, ...steps };
        await callHub(hub, { path: "node.endJob", body, credential: node.credential });
      }
    }),
  );
  return times;
}

/** Returns the share of a core that the hub takes during this time. */
async function cpuOf(stage: Stage, seconds: number): Promise<number> {
  const before = await usageOf(stage.hub.pid);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  return ((await usageOf(stage.hub.pid)).cpuSeconds - before.cpuSeconds) / seconds;
}

/** Lets nodes wait for jobs that do not come. Returns the share of a core that the hub takes. */
async function waitIdle(
  stage: Stage,
  hub: HubAddress,
  { nodes, seconds }: { nodes: readonly Node[]; seconds: number },
): Promise<number> {
  const over = new AbortController();
  const waiting = nodes.map(async (node, at) => {
    // They do not all ask in the same moment, as those of a fleet do not.
    await new Promise((resolve) => setTimeout(resolve, (at / nodes.length) * LONGEST_TAKE_SECONDS * 1_000));
    while (!over.signal.aborted) await take(hub, node, { queue: "empty", waitSeconds: LONGEST_TAKE_SECONDS });
  });
  await new Promise((resolve) => setTimeout(resolve, (LONGEST_TAKE_SECONDS + 1) * 1_000));
  const cpu = await cpuOf(stage, seconds);
  over.abort();
  await Promise.all(waiting);
  return cpu;
}

/** Measures claims over a long queue and idle workers, and prints both. @throws BenchError */
export async function benchJobs(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      jobs: { type: "string", default: "100000" },
      claims: { type: "string", default: "500" },
      claimers: { type: "string", default: "8" },
      idle: { type: "string", default: "500" },
      seconds: { type: "string", default: "60" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const jobs = readCount("--jobs", values.jobs);
  const claims = readCount("--claims", values.claims);
  if (claims > jobs) throw new BenchError("--claims: there are not so many jobs.");
  const claimers = readCount("--claimers", values.claimers);
  const idle = readCount("--idle", values.idle);
  const seconds = readCount("--seconds", values.seconds);
  const { machine } = await describeMachine({ congestion: "", link: null, server: "store" });
  console.log(`${machine.cpu}, ${machine.cores} cores, load ${machine.loadBefore} before`);
  const stage = await openStage();
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  try {
    const hub = { url: stage.hub.url, agent };
    const submittedAt = performance.now();
    for (let from = 0; from < jobs; from += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, jobs - from) }, (_, at) => ({
        queue: "long",
        name: `job-${from + at}`,
        command: "python",
        arguments: ["train.py", "--seed", String(from + at)],
      }));
      await stage.client.jobs.submit.mutate({ jobs: some });
    }
    const took = (performance.now() - submittedAt) / 1_000;
    console.log(`  ${formatCount(jobs)} jobs submitted in ${took.toFixed(0)} s`);
    const all = await enrolAll(stage, hub, { count: claimers, name: "claimer" });
    for (const some of claimers === 1 ? [all] : [all.slice(0, 1), all]) {
      const times = await claimAll(hub, some, Math.ceil(claims / 2));
      const [median, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
      const who = some.length === 1 ? "one node" : `${some.length} nodes at once`;
      const about = `${formatCount(times.length)} claims by ${who} over ${formatCount(jobs)} waiting jobs`;
      console.log(`  ${about}: median ${median.toFixed(0)} ms, P99 ${p99.toFixed(0)} ms`);
    }
    const alone = await cpuOf(stage, seconds);
    console.log(`  the hub without idle workers: ${(alone * 100).toFixed(1)} % of one core`);
    const nodes = await enrolAll(stage, hub, { count: idle, name: "idle" });
    const cpu = await waitIdle(stage, hub, { nodes, seconds });
    const projected = Math.max(0, ((cpu - alone) / idle) * PROJECTED * 100).toFixed(0);
    console.log(`  ${formatCount(idle)} idle workers: ${(cpu * 100).toFixed(1)} % of one core`);
    const how = "of one core, in proportion and without the hub's own share";
    console.log(`  projected to ${formatCount(PROJECTED)}: ${projected} % ${how}`);
  } finally {
    agent.destroy();
    await stage.close();
  }
}
