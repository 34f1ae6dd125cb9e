import { randomUUID } from "node:crypto";
import { nodeName, runName } from "#protocol/base/names.ts";
import type { Stage } from "../../stage/open-stage.ts";
import {
  announce,
  enrolRogue,
  manifestOf,
  putOf,
  refusal,
  type RogueNode,
  send,
  signOne,
} from "../../stage/rogue-node.ts";
import { ask } from "./ask.ts";
import type { Row } from "./row.ts";

/** Attacks with unbounded counts and numbers. */

const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
/** Calls a mutation. A text body is sent as JSON unchanged; it is made before the clock starts. */
const post = (stage: Stage, path: string, call: { headers?: Record<string, string>; body: unknown }) =>
  ask({
    url: stage.hub.url,
    path,
    type: "mutation",
    headers: { origin: stage.hub.url, ...call.headers },
    body: typeof call.body === "string" ? call.body : JSON.stringify(call.body),
  });

/** Longest time for a refusal, whatever the size of the input. */
const REFUSED_MS = 3_000;

const listsOf = async (stage: Stage): Promise<string[]> => {
  const filter = { nodeId: null, run: null, states: [], cursor: null, limit: 50 };
  const lists = {
    "runs.list": () => stage.client.runs.list.query(),
    "losses.summary": () => stage.client.losses.summary.query({ run: null }),
    "transfers.list": () => stage.client.transfers.list.query(filter),
    "fleet.samples": () => stage.client.fleet.samples.query({ minutes: 60 }),
    "nodes.list": () => stage.client.nodes.list.query(),
  };
  const failed: string[] = [];
  for (const [name, read] of Object.entries(lists)) {
    const why = await refusal(read());
    if (why !== null) failed.push(`${name} fails: ${why}`);
  }
  return failed;
};

async function claim(
  stage: Stage,
  name: string,
): Promise<{ rogue: RogueNode; run: ReturnType<typeof runName.parse>; epoch: number }> {
  const rogue = await enrolRogue(stage, { name });
  const run = runName.parse(`run-of-${name}`);
  const { epoch } = await rogue.node.claimEpoch.mutate({ run });
  return { rogue, run, epoch };
}

async function manyLabels(stage: Stage): Promise<string[]> {
  const labels = Object.fromEntries(many(466_000).map((index) => [`l${index}`, 1]));
  const facts = {
    hostname: "a",
    platform: "linux",
    cpus: 1,
    memoryBytes: 1,
    gpu: null,
    labels,
    machineId: null,
    workerVersion: "1",
  };
  const body = JSON.stringify({ token: "x".repeat(32), name: "a", protocol: 1, facts });
  const answers = await Promise.all(many(3).map(() => post(stage, "node.enrol", { body })));
  const problems = answers.flatMap((answer) =>
    answer !== null && (answer.status === 200 || answer.status >= 500 || answer.tookMs > REFUSED_MS)
      ? [`node.enrol with 466,000 labels: ${answer.status} after ${Math.round(answer.tookMs)} ms`]
      : [],
  );
  const { rogue } = await claim(stage, "labels");
  const metrics = Object.fromEntries(many(1_500_000).map((index) => [`metric-${index}`, "x"]));
  const headers = { authorization: `Bearer ${rogue.credential}` };
  const answer = await post(stage, "node.commit", { headers, body: { manifest: { metrics } } });
  // 0: the hub closed the connection before the whole body was sent.
  const isRefused = answer !== null && (answer.status === 0 || (answer.status >= 400 && answer.status < 500));
  if (!isRefused || answer.tookMs > REFUSED_MS)
    problems.push(`node.commit with 31 MB of metrics: ${answer?.status} after ${Math.round(answer?.tookMs ?? 0)} ms`);
  return problems;
}

async function largeSizes(stage: Stage): Promise<string[]> {
  const { rogue, run, epoch: writerEpoch } = await claim(stage, "sizes");
  const problems: string[] = [];
  for (const step of [1, 2]) {
    const files = [{ path: "model.safetensors", sizeBytes: Number.MAX_SAFE_INTEGER }];
    const about = {
      checkpointId: randomUUID(),
      run,
      writerEpoch,
      step,
      attempt: `attempt${step}aaaaaa`,
      framework: null,
    };
    const headers = { authorization: `Bearer ${rogue.credential}` };
    const answer = await post(stage, "node.announce", { headers, body: { ...about, capturedAt: 1, files } });
    if (answer?.status !== 400) problems.push(`2^53-1 bytes are announced: ${answer?.status}`);
  }
  return [...problems, ...(await listsOf(stage))];
}

async function manyMetrics(stage: Stage): Promise<string[]> {
  const { rogue, run, epoch } = await claim(stage, "metrics");
  const problems: string[] = [];
  const metrics = Object.fromEntries(many(100_000).map((index) => [`m${index}`, index]));
  for (const step of many(6)) {
    const staged = await announce(rogue, { run, epoch, step });
    const { etag } = await send(await signOne(rogue, putOf(staged)), staged.body);
    const manifest = { ...manifestOf(stage, rogue, { staged, etag }), metrics };
    const why = await refusal(rogue.node.commit.mutate({ manifest }));
    if (why !== "BAD_INPUT") problems.push(`100,000 metrics are committed: ${why}`);
  }
  const headers = { origin: stage.hub.url, cookie: stage.cookie };
  const answer = await ask({
    url: stage.hub.url,
    path: "runs.get",
    type: "query",
    headers,
    body: JSON.stringify({ run }),
  });
  if (answer === null || answer.status !== 200 || answer.bytes > 1_000_000)
    problems.push(`runs.get answers ${answer?.status} with ${answer?.bytes} bytes`);
  return problems;
}

async function largeRates(stage: Stage): Promise<string[]> {
  const { rogue } = await claim(stage, "rates");
  const empty = { rttMs: null, disk: null, cpuPercent: null, runs: [], transfers: [] };
  const report = { bootId: randomUUID(), seq: 1, at: Date.now(), ...empty };
  const problems: string[] = [];
  for (const value of [1.7e308, -1]) {
    const why = await refusal(
      rogue.node.progress.mutate({ ...report, upBytesPerSecond: value, downBytesPerSecond: value }),
    );
    if (why !== "BAD_INPUT") problems.push(`a rate of ${value} is taken: ${why}`);
  }
  return [...problems, ...(await listsOf(stage))];
}

async function foreignLosses(stage: Stage): Promise<string[]> {
  const owner = await claim(stage, "owner");
  const other = await claim(stage, "other");
  const at = Date.now();
  let seq = 0;
  for (let first = 0; first < 1_100; first += 100) {
    const events = many(100).map(() => ({
      type: "work-lost" as const,
      seq: ++seq,
      at,
      lossId: randomUUID(),
      run: owner.run,
      writerEpoch: owner.epoch,
      fromStep: 0,
      lastStep: 2 ** 40,
      lostSteps: 2 ** 40,
      lostMs: 2 ** 50,
    }));
    await refusal(other.rogue.node.record.mutate({ events }));
  }
  const ended = {
    type: "program-ended" as const,
    seq: ++seq,
    at,
    run: owner.run,
    code: 1,
    signal: null,
    ranMs: 1,
    tail: "",
  };
  await refusal(other.rogue.node.record.mutate({ events: [ended] }));
  const problems = await listsOf(stage);
  const rows = await stage.client.losses.list.query({ nodeId: null, run: owner.run, before: null, limit: 50 });
  if (rows.length > 0) problems.push(`${rows.length} losses of another's run are in the ledger`);
  const metrics = await (await fetch(`${stage.hub.url}/metrics`)).text();
  const lost = Number(/^tidemark_lost_training_seconds_total (\S+)$/m.exec(metrics)?.[1] ?? Number.NaN);
  if (lost !== 0) problems.push(`/metrics says that ${lost} s were lost`);
  const told = await stage.client.events.list.query({ nodeId: null, run: owner.run, cursor: null, limit: 50 });
  if (told.rows.some(({ kind }) => kind === "program-ended")) problems.push("another's program is said to have ended");
  return problems;
}

async function plainAfterSealing(stage: Stage): Promise<string[]> {
  const { rogue, run, epoch } = await claim(stage, "plain");
  const staged = await announce(rogue, { run, epoch, step: 1 });
  const { etag } = await send(await signOne(rogue, putOf(staged)), staged.body);
  await stage.client.sealing.set.mutate({ id: stage.profileId, sealing: "content", understood: true });
  const problems: string[] = [];
  const signed = await refusal(signOne(rogue, putOf(staged)));
  if (signed === null) problems.push("a plain attempt is signed for after encryption was switched on");
  const committed = await refusal(rogue.node.commit.mutate({ manifest: manifestOf(stage, rogue, { staged, etag }) }));
  if (committed === null) problems.push("a plain attempt is committed after encryption was switched on");
  return problems;
}

async function manyFiles(stage: Stage): Promise<string[]> {
  const { rogue, run, epoch } = await claim(stage, "files");
  const staged = await announce(rogue, { run, epoch, step: 1 });
  const like = manifestOf(stage, rogue, { staged, etag: "e" });
  const [file] = like.files;
  const files = many(50_000).map((index) => ({ ...file, path: `folder/model-${index}.safetensors` }));
  const manifest = { ...like, node: { id: rogue.nodeId, name: nodeName.parse("files") }, files };
  const headers = { authorization: `Bearer ${rogue.credential}` };
  const sizeBytes = files.reduce((sum, one) => sum + (one.sizeBytes ?? 0), 0);
  const problems: string[] = [];
  for (const body of [{ manifest: { ...manifest, sizeBytes } }, { manifest }]) {
    const answer = await post(stage, "node.commit", { headers, body });
    if (answer === null || answer.status < 400 || answer.status >= 500)
      problems.push(`a forged manifest of 50,000 files: ${answer?.status} ${answer?.code}`);
  }
  return problems;
}

export const NUMBER_ROWS: readonly Row[] = [
  {
    row: "1",
    says: "466,000 labels of nobody, 31 MB of metrics of a node: refused before they are looked at",
    run: manyLabels,
  },
  { row: "4", says: "2^53-1 bytes announced twice: refused, and the Runs page answers", run: largeSizes },
  {
    row: "5",
    says: "600,000 metrics in six checkpoints: refused, and a run is told in less than a megabyte",
    run: manyMetrics,
  },
  { row: "6", says: "1.7e308 bytes a second: refused, and the history of the others goes on", run: largeRates },
  { row: "7", says: "1,100 losses and an end of a program of another's run: not taken", run: foreignLosses },
  {
    row: "14",
    says: "an attempt announced plain before encryption is on: neither signed nor committed",
    run: plainAfterSealing,
  },
  { row: "loop", says: "manifests of 50,000 files: nobody waits for them", run: manyFiles },
];
