import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { AttemptExit, TakenJob } from "#protocol/jobs/node-jobs.ts";
import { createRandom, type Random } from "../faults/random.ts";
import { faultOf } from "../stage/hub-client.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { enrolRogue, type RogueNode } from "../stage/rogue-node.ts";

/**
 * `npm run prove -- jobs [--jobs N] [--nodes N] [--minutes N] [--seed N]`: many nodes take the jobs of one queue while the hub
 * and the nodes are killed at random. Every job must be completed once, no attempt may be handed to two nodes, and an end that
 * a killed node still reports must not count once another node has the job.
 */

const QUEUE = "prove";
const SHARE_KILLED = 0.15;
const SHARE_FAILED = 0.05;
const MOST_WORK_MS = 60;
const HUB_LIVES_MS = 4_000;
const RETRY_MS = 100;

interface Proof {
  stage: Stage;
  random: Random;
  isOver: () => boolean;
  /** By job: the node of each attempt, and the highest number that any answer named. */
  attempts: Map<string, { nodes: Map<number, string>; newest: number }>;
  /** By job: the attempts whose success was accepted. */
  completed: Map<string, Set<number>>;
  problems: string[];
  counts: { kills: number; hubKills: number; stale: number; handed: number };
}

/** Repeats a call while the hub is away. Returns null when the proof is over. */
async function persist<T>({ isOver }: Proof, call: () => Promise<T>): Promise<T | null> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const fault = faultOf(error);
      // A refusal of the hub itself is a finding; anything else is a hub that was killed.
      if (fault !== null && fault.code !== "SHUTTING_DOWN") throw error;
      if (isOver()) return null;
      await pause(RETRY_MS);
    }
  }
}

function noteHanded(proof: Proof, node: RogueNode, job: TakenJob): void {
  proof.counts.handed++;
  const known = proof.attempts.get(job.id) ?? { nodes: new Map<number, string>(), newest: 0 };
  proof.attempts.set(job.id, known);
  const before = known.nodes.get(job.attempt);
  if (before !== undefined && before !== node.nodeId) {
    proof.problems.push(`attempt ${job.attempt} of ${job.name} was handed to two nodes`);
  }
  if (proof.completed.has(job.id)) proof.problems.push(`${job.name} was handed out after its end was accepted`);
  known.nodes.set(job.attempt, node.nodeId);
  known.newest = Math.max(known.newest, job.attempt);
}

/** Reports an end until the hub answers. Checks that it is accepted only for the newest attempt. */
async function reportEnd(proof: Proof, node: RogueNode, about: { job: TakenJob; exit: AttemptExit }): Promise<void> {
  const { job, exit } = about;
  const { id: jobId, attempt, epoch } = job;
  const newest = proof.attempts.get(jobId)?.newest ?? 0;
  const steps = { fromStep: null, toStep: null, safeStep: null };
  const answer = await persist(proof, () => node.node.endJob.mutate({ jobId, attempt, epoch, exit, ...steps }));
  if (answer === null) return;
  if (!answer.accepted) {
    proof.counts.stale++;
    return;
  }
  if (attempt < newest)
    proof.problems.push(`the end of attempt ${attempt} of ${job.name} counted after attempt ${newest} began`);
  if (exit.kind !== "exited" || exit.code !== 0) return;
  const done = proof.completed.get(jobId) ?? new Set<number>();
  proof.completed.set(jobId, done.add(attempt));
  if (done.size > 1) proof.problems.push(`${job.name} was completed by two attempts`);
}

/** Lives of one node: it takes jobs, ends them, and is killed now and then, which forgets what it runs. */
async function live(proof: Proof, node: RogueNode): Promise<void> {
  const { random } = proof;
  const late: Promise<void>[] = [];
  let bootId = randomUUID();
  while (!proof.isOver()) {
    const request = { bootId, queue: QUEUE, holds: [], waitSeconds: 1 };
    const job = (await persist(proof, () => node.node.takeJob.mutate(request)))?.job ?? null;
    if (job === null) continue;
    noteHanded(proof, node, job);
    await pause(random.next() * MOST_WORK_MS);
    if (random.next() < SHARE_KILLED) {
      proof.counts.kills++;
      bootId = randomUUID();
      // What the killed life sent last arrives late.
      const sent = pause(random.next() * 2_000).then(() =>
        reportEnd(proof, node, { job, exit: { kind: "exited", code: 0 } }),
      );
      late.push(sent);
      continue;
    }
    const code = random.next() < SHARE_FAILED ? 1 : 0;
    await reportEnd(proof, node, { job, exit: { kind: "exited", code } });
  }
  await Promise.all(late);
}

async function killHubs({ stage, random, isOver, counts }: Proof): Promise<void> {
  while (!isOver()) {
    await pause(HUB_LIVES_MS * (0.5 + random.next()));
    if (isOver()) return;
    await stage.killHub();
    counts.hubKills++;
    await stage.startHubAgain();
  }
}

/** Waits until no job is open, and returns the states in the end. */
async function watchQueue(proof: Proof, until: number): Promise<Record<string, number>> {
  for (;;) {
    const rows = await persist(proof, () => proof.stage.client.jobs.queues.query());
    const counts: Record<string, number> = rows?.find(({ queue }) => queue === QUEUE)?.counts ?? {};
    const open = (counts["waiting"] ?? 0) + (counts["running"] ?? 0);
    if (open === 0 || performance.now() > until) return counts;
    await pause(500);
  }
}

function readNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`${name} is a whole number above 0, not "${text}".`);
}

async function submitAll({ stage }: Proof, count: number): Promise<void> {
  const policy = { mostFailures: 100 };
  const all = Array.from({ length: count }, (_, index) => ({
    command: "true",
    name: `job-${index}`,
    queue: QUEUE,
    policy,
    idempotencyKey: `job-${index}`,
  }));
  for (let from = 0; from < all.length; from += 1_000) {
    await stage.client.jobs.submit.mutate({ jobs: all.slice(from, from + 1_000) });
  }
}

/** Runs the proof and returns the exit code. */
export async function proveJobs(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    strict: true,
    options: {
      jobs: { type: "string", default: "1000" },
      nodes: { type: "string", default: "20" },
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
    },
  });
  const [jobs, nodes] = [readNumber("--jobs", values.jobs), readNumber("--nodes", values.nodes)];
  const [minutes, seed] = [readNumber("--minutes", values.minutes), readNumber("--seed", values.seed)];
  const stage = await openStage();
  let isDone = false;
  const proof: Proof = {
    stage,
    random: createRandom(seed),
    isOver: () => isDone,
    attempts: new Map(),
    completed: new Map(),
    problems: [],
    counts: { kills: 0, hubKills: 0, stale: 0, handed: 0 },
  };
  try {
    await submitAll(proof, jobs);
    const fleet: RogueNode[] = [];
    while (fleet.length < nodes) fleet.push(await enrolRogue(stage, { name: `gpu-${fleet.length + 1}` }));
    const lives = [...fleet.map((node) => live(proof, node)), killHubs(proof)];
    const states = await watchQueue(proof, performance.now() + minutes * 60_000);
    isDone = true;
    await Promise.all(lives);
    if (states["done"] !== jobs)
      proof.problems.push(
        `after ${minutes} min at most, ${states["done"] ?? 0} of ${jobs} jobs are done: ${JSON.stringify(states)}`,
      );
    const { handed, kills, hubKills, stale } = proof.counts;
    console.log(
      `${jobs} jobs, ${nodes} nodes: ${handed} hand-outs, ${kills} nodes and ${hubKills} hubs killed, ${stale} stale ends.`,
    );
  } finally {
    isDone = true;
    await stage.close();
  }
  for (const problem of proof.problems.slice(0, 20)) console.log(`  x ${problem}`);
  console.log(proof.problems.length === 0 ? "All held." : `${proof.problems.length} not as they should be.`);
  return proof.problems.length === 0 ? 0 : 1;
}
