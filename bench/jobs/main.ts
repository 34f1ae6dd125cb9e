import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { z } from "zod";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { addToken } from "#e2e/stage/provision.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { ASK_AGAIN_MS, LONGEST_TAKE_SECONDS } from "#protocol/jobs/node-jobs.ts";
import { formatCount } from "#protocol/base/units.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { BenchError } from "../bench-error.ts";
import { percentile } from "../fleet/percentile.ts";
import { callHub, openStream, type HubAddress } from "../fleet/talk.ts";
import { usageOf } from "../fleet/watch-process.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";

/** `npm run bench -- jobs`: measures how long a claim takes over a long queue, and what idle workers cost the hub. */

const HELP = `npm run bench -- jobs [--jobs N] [--claims N] [--claimers N] [--idle N] [--seconds S]

  --jobs N       jobs that wait in the queue (100000)
  --claims N     jobs that are claimed and ended, in three turns (600)
  --claimers N   nodes that claim in the second and third turn (8)
  --idle N       nodes that wait for a job; together they ask as often as 10,000 would (500)
  --seconds S    how long each of the four turns of the idle nodes is measured (60)`;

const AT_ONCE = 1_000;
/** Idle workers whose calls are made. */
const PROJECTED = 10_000;
/** Average time between two calls of an idle worker (worker/jobs/wait-for-job.ts). */
const ASKS_EVERY_MS = 0.875 * ASK_AGAIN_MS;
/** Claims of 10,000 nodes whose jobs take an hour each. */
const FLEET_CLAIMS_PER_SECOND = PROJECTED / 3_600;
const LANES = 16;
const REPORT_EVERY_MS = 10_000;

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

interface Question {
  queue: string;
  waitSeconds: number;
  listens?: true;
}

const take = async (hub: HubAddress, { credential, bootId }: Node, about: Question) => {
  const body = { bootId, holds: [], movesBytes: true, ...about };
  return taken.parse(await callHub(hub, { path: "node.takeJob", body, credential })).job;
};

/** Claims a job of the long queue and ends it. Returns how long the claim took, ms. @throws BenchError when there is none */
async function claimOne(hub: HubAddress, node: Node): Promise<number> {
  const startedAt = performance.now();
  const job = await take(hub, node, { queue: "long", waitSeconds: 0 });
  const tookMs = performance.now() - startedAt;
  if (job === null) throw new BenchError("A claim found no job in a queue that has many.");
  const { id: jobId, attempt, epoch } = job;
  const steps = { fromStep: null, toStep: null, safeStep: null };
  const exit = { kind: "exited", code: 0 };
  await callHub(hub, {
    path: "node.endJob",
    body: { jobId, attempt, epoch, exit, ...steps },
    credential: node.credential,
  });
  return tookMs;
}

/** Claims and ends jobs without a pause until this many were claimed. Returns how long each claim took, ms. */
async function claimAll(hub: HubAddress, nodes: readonly Node[], claims: number): Promise<number[]> {
  const times: number[] = [];
  let left = claims;
  await Promise.all(
    nodes.map(async (node) => {
      while (left-- > 0) times.push(await claimOne(hub, node));
    }),
  );
  return times;
}

/** Claims and ends jobs at the rate of a fleet, whether or not earlier claims were answered. Returns how long each took, ms. */
async function claimAtRate(hub: HubAddress, nodes: readonly Node[], claims: number): Promise<number[]> {
  const startedAt = performance.now();
  const running: Promise<number>[] = [];
  // A node has one job at a time.
  const lasts = new Map<Node, Promise<unknown>>();
  let at = 0;
  for (const index of Array.from({ length: claims }).keys()) {
    const node = nodes[index % nodes.length];
    if (node === undefined) break;
    await sleep(Math.max(0, startedAt + at - performance.now()));
    const claim = (lasts.get(node) ?? Promise.resolve()).then(() => claimOne(hub, node));
    lasts.set(node, claim);
    claim.catch(() => undefined);
    running.push(claim);
    // Independent machines: the time between two claims has an exponential distribution.
    at += (-Math.log(1 - Math.random()) * 1_000) / FLEET_CLAIMS_PER_SECOND;
  }
  return Promise.all(running);
}

/** Returns the share of a core that the hub takes during this time. */
async function cpuOf(stage: Stage, seconds: number): Promise<number> {
  const before = await usageOf(stage.hub.pid);
  await sleep(seconds * 1_000);
  return ((await usageOf(stage.hub.pid)).cpuSeconds - before.cpuSeconds) / seconds;
}

/** Runs `call` for all nodes, each once in `everyMs`, evenly, until the signal is aborted. */
async function keepCalling<N>(
  nodes: readonly N[],
  { everyMs, over }: { everyMs: number; over: AbortSignal },
  call: (node: N) => Promise<unknown>,
): Promise<void> {
  const startedAt = performance.now();
  const calls: Promise<unknown>[] = [];
  for (let made = 0; !over.aborted; made++) {
    const waitMs = startedAt + (made * everyMs) / nodes.length - performance.now();
    await sleep(Math.max(0, waitMs), null, { signal: over }).catch(() => undefined);
    const node = nodes[made % nodes.length];
    if (node !== undefined && !over.aborted) calls.push(call(node));
  }
  await Promise.all(calls);
}

/** A report of a node that moves nothing. */
const idleReport = ({ bootId }: Node, seq: number) => ({
  bootId,
  seq,
  at: Date.now(),
  upBytesPerSecond: 0,
  downBytesPerSecond: 0,
  rttMs: null,
  disk: null,
  cpuPercent: 1,
  logTail: null,
  runs: [],
  transfers: [],
});

/**
 * Lets nodes hold their streams and report, in turns without and with the calls of idle workers for a job that does not come.
 * Returns the shares of a core that the hub takes.
 */
async function compareIdle(
  stage: Stage,
  hub: HubAddress,
  { nodes, seconds }: { nodes: readonly Node[]; seconds: number },
): Promise<{ without: number[]; asking: number[] }> {
  const over = new AbortController();
  for (const { bootId, credential } of nodes) {
    const closed = openStream(hub, { bootId, credential, onOpen: () => {}, onMessage: () => {} });
    closed.catch((error: unknown) => over.abort(error));
  }
  let seq = 0;
  const report = async (node: Node) => {
    await callHub(hub, { path: "node.progress", body: idleReport(node, ++seq), credential: node.credential });
  };
  const reports = keepCalling(nodes, { everyMs: REPORT_EVERY_MS, over: over.signal }, report);
  const shares: { without: number[]; asking: number[] } = { without: [], asking: [] };
  await sleep(REPORT_EVERY_MS);
  for (const turn of ["without", "asking", "without", "asking"] as const) {
    const end = new AbortController();
    const everyMs = (ASKS_EVERY_MS * nodes.length) / PROJECTED;
    const question = { queue: "empty", waitSeconds: LONGEST_TAKE_SECONDS, listens: true as const };
    const asks =
      turn === "without"
        ? null
        : keepCalling(nodes, { everyMs, over: end.signal }, (node) => take(hub, node, question));
    await sleep(2_000);
    shares[turn].push(await cpuOf(stage, seconds));
    end.abort();
    await asks;
  }
  over.abort();
  await reports;
  return shares;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Measures claims over a long queue and idle workers, and prints both. @throws BenchError */
export async function benchJobs(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      jobs: { type: "string", default: "100000" },
      claims: { type: "string", default: "600" },
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
    const say = (times: readonly number[], who: string) => {
      const [median, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
      const about = `${formatCount(times.length)} claims by ${who} over ${formatCount(jobs)} waiting jobs`;
      console.log(`  ${about}: median ${median.toFixed(0)} ms, P99 ${p99.toFixed(0)} ms`);
    };
    const some = Math.max(1, Math.floor(claims / 3));
    say(await claimAll(hub, all.slice(0, 1), some), "one node");
    const rate = FLEET_CLAIMS_PER_SECOND.toFixed(1);
    say(await claimAtRate(hub, all, some), `${formatCount(PROJECTED)} nodes with jobs of an hour (${rate} a second)`);
    const startedAt = performance.now();
    say(await claimAll(hub, all, some), `${all.length} nodes without a pause`);
    console.log(`  that is ${(some / ((performance.now() - startedAt) / 1_000)).toFixed(0)} claims and ends a second`);
    const nodes = await enrolAll(stage, hub, { count: idle, name: "idle" });
    const { without, asking } = await compareIdle(stage, hub, { nodes, seconds });
    const percents = (shares: readonly number[]) => shares.map((share) => (share * 100).toFixed(1)).join(" and ");
    console.log(
      `  ${formatCount(idle)} nodes that report each ${REPORT_EVERY_MS / 1_000} s: ${percents(without)} % of one core`,
    );
    console.log(`  with the calls of ${formatCount(PROJECTED)} idle workers beside: ${percents(asking)} %`);
    const cost = ((mean(asking) - mean(without)) * 100).toFixed(1);
    console.log(`  ${formatCount(PROJECTED)} idle workers that wait for a job: ${cost} % of one core`);
  } finally {
    agent.destroy();
    await stage.close();
  }
}
