import { Fault } from "#protocol/faults/fault.ts";
import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { placeWords, stepSourceOf, stepWords } from "#protocol/checkpoint/step-words.ts";
import { branchWords } from "#protocol/history/passed-over.ts";
import { FINDINGS, OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import type { Config } from "../command-line/config.ts";
import { shownName, usage, type CommandContext } from "../command-line/command-context.ts";
import type { BucketCalls } from "../standalone/bucket-calls.ts";
import { choosingFrom, newestOf, type Chosen } from "../standalone/choose-checkpoint.ts";
import { listAhead } from "../standalone/list-ahead.ts";
import { listSteps, type ListedStep, type StepState } from "../standalone/list-steps.ts";
import { createRunRecords, type RunRecord, type RunRecords } from "../standalone/run-record.ts";
import type { OtherWriter } from "../standalone/other-writers.ts";
import { readLeaseOrNull } from "../standalone/writer-lease.ts";
import { openBucket, readTo } from "../standalone/open-standalone.ts";

interface ShownRun {
  run: RunName;
  /** Step from which the run continues; null without one. */
  newestStep: number | null;
  checkpoints: number;
  /** Size of the newest checkpoint. */
  sizeBytes: number | null;
  /** Epoch ms by the store's clock. */
  committedAt: number | null;
  writer: { name: string; isActive: boolean } | null;
}

/** Number of connections for the small objects of runs, because each takes a round trip. */
const CONNECTIONS = 64;

/**
 * Implements `tidemark runs --to s3://bucket/prefix`: lists the runs of a bucket without a hub, or the checkpoints of
 * one run. Takes four listings, and a few small objects for each run. Faults: BAD_INPUT, NOT_FOUND, those of the store.
 */
export async function showRuns({ config, terminal, signal, operands }: CommandContext): Promise<number> {
  const to = config.text("to");
  if (to === null) throw usage("--to", "it says where to look: tidemark runs --to s3://bucket/prefix");
  const [name, extra] = operands;
  if (extra !== undefined) throw usage(extra, "it takes one run: tidemark runs RUN --to s3://bucket/prefix");
  if (name !== undefined) {
    const { run, steps, older, epochs, now } = await readSteps(config, { to, signal, name });
    const more = older === 0 ? [] : [`and ${formatCount(older)} older`];
    const lines = [...steps.map((one) => lineOfStep(one, now)), ...more, ...epochs.flatMap(sentenceOfLine)];
    terminal.result(lines, { type: "steps", run, steps, older, epochs });
    return 0;
  }
  const { runs, sentences } = await listRuns(config, { to, signal });
  terminal.result(sentences, { type: "runs", runs });
  return 0;
}

/** Lists the runs of a bucket, for programs and for people. Faults: BAD_INPUT, those of the store. */
export async function listRuns(
  config: Config,
  { to, signal }: { to: string; signal: AbortSignal },
): Promise<{ runs: ShownRun[]; sentences: string[]; otherWriters: OtherWriter[] }> {
  const { bucket, prefix } = readTo(to);
  const opened = await openBucket(config, { bucket, prefix, signal, connections: CONNECTIONS });
  try {
    const runs = await readRuns(opened.calls, prefix);
    const now = opened.calls.now();
    const sentences = runs.length === 0 ? ["No checkpoints there."] : runs.map((run) => lineOf(run, now));
    // This command writes nothing, so every node counts as another one.
    const writing = runs.flatMap(({ run, writer }) => (writer?.isActive === true ? [{ run, node: writer.name }] : []));
    const nodes = new Set(writing.map(({ node }) => node));
    return { runs, sentences, otherWriters: nodes.size > 1 ? writing : [] };
  } finally {
    await opened.close();
  }
}

/** An epoch of a run, by its claim. `branch`: present when it is a new line of training. */
interface ListedEpoch extends Pick<EpochClaim, "epoch" | "parent" | "claimedAt"> {
  branch: LineBranch | null;
  node: string;
}

const sentenceOfLine = ({ epoch, branch }: ListedEpoch): string[] =>
  branch === null ? [] : [`epoch ${epoch} is a new line: ${branchWords(branch)}`];

/** Most checkpoints that are listed, because the manifest of each is read. */
const MOST_STEPS = 500;

/** Lists the checkpoints of a run. @throws Fault BAD_INPUT, NOT_FOUND, those of the store */
async function readSteps(
  config: Config,
  { to, signal, name }: { to: string; signal: AbortSignal; name: string },
): Promise<{ run: RunName; steps: ListedStep[]; older: number; epochs: ListedEpoch[]; now: number }> {
  const run = runName.safeParse(name);
  if (!run.success) throw usage(name, run.error.issues[0]?.message ?? "this is not the name of a run");
  const { bucket, prefix } = readTo(to);
  const opened = await openBucket(config, { bucket, prefix, signal, connections: CONNECTIONS });
  try {
    const records = createRunRecords(opened.calls, prefix);
    const record = await records.read(run.data);
    const choosing = choosingFrom(records, record);
    const { steps, older } = await listSteps(choosing, { most: MOST_STEPS, width: CONNECTIONS });
    if (steps.length === 0) {
      const detail = `no checkpoint of it lies below s3://${bucket}/${prefix}`;
      throw new Fault("NOT_FOUND", { op: "runs", subject: name, detail });
    }
    const epochs = record.claims
      .map(({ epoch, parent, branch = null, node, claimedAt }) => ({
        epoch,
        parent,
        branch,
        node: node.name,
        claimedAt,
      }))
      .toReversed()
      .slice(0, MOST_STEPS);
    return { run: run.data, steps, older, epochs, now: opened.calls.now() };
  } finally {
    await opened.close();
  }
}

const STATE_WORDS: Readonly<Record<StepState, string>> = {
  newest: "the run goes on from it",
  complete: "complete",
  final: "complete",
  doubtful: "doubtful",
  damaged: "damaged",
  "left-behind": "left behind",
  trashed: "removed",
  unreadable: "not complete",
};

function lineOfStep({ step, epoch, state, why, sizeBytes, node, place, committedAt }: ListedStep, now: number): string {
  const size = sizeBytes === null ? "" : `, ${formatBytes(sizeBytes)}`;
  const by = node === null ? "" : `, by ${shownName(node)}`;
  const reason = why === null ? "" : `: ${shownName(why)}`;
  const age = formatDuration(Math.max(0, now - committedAt));
  const where = place === null || state === "final" ? "" : `, ${placeWords(place)}`;
  return `${stepWords(step, stepSourceOf(place))}${size}${where}, ${age} ago${by}, epoch ${epoch}; ${STATE_WORDS[state]}${reason}`;
}

/**
 * Reads all claims of a run only when it cannot be continued from its newest checkpoints. Faults: those of the store.
 */
async function readNewest(records: RunRecords, run: RunName): Promise<{ record: RunRecord; newest: Chosen | null }> {
  const newestIn = (record: RunRecord) => newestOf(choosingFrom(records, record));
  const record = await records.readNewest(run);
  const newest = await newestIn(record);
  if (newest?.listed.writerEpoch === record.checkpoints[0]?.writerEpoch) return { record, newest };
  const whole = await records.read(run);
  return { record: whole, newest: await newestIn(whole) };
}

/** Reads the displayed facts of each run, the latest first. Faults: those of the store. */
export async function readRuns(calls: BucketCalls, prefix: string): Promise<ShownRun[]> {
  const { manifests, claims, keeping } = OWN_FOLDERS;
  const folders = [manifests, claims, keeping, `${FINDINGS}/`].map((folder) => `${prefix}${folder}`);
  const listed = await listAhead(calls, folders);
  const records = createRunRecords(listed, prefix);
  const names = await listed.folders(`${prefix}${manifests}`);
  const shown: ShownRun[] = [];
  await forEachOf(
    names.flatMap((name) => runName.safeParse(name).data ?? []),
    CONNECTIONS,
    async (run) => {
      const [{ record, newest }, found] = await Promise.all([
        readNewest(records, run),
        readLeaseOrNull({ calls, prefix, run }),
      ]);
      const lease = found?.lease ?? null;
      shown.push({
        run,
        newestStep: newest?.listed.step ?? null,
        checkpoints: record.checkpoints.length,
        sizeBytes: newest?.manifest.sizeBytes ?? null,
        committedAt: newest?.listed.committedAt ?? null,
        writer: lease === null ? null : { name: lease.node.name, isActive: (found?.leftMs ?? 0) > 0 },
      });
    },
  );
  return shown.toSorted((a, b) => (b.committedAt ?? 0) - (a.committedAt ?? 0));
}

function lineOf({ run, newestStep, checkpoints, sizeBytes, committedAt, writer }: ShownRun, now: number): string {
  const age = committedAt === null ? "" : `, ${formatDuration(Math.max(0, now - committedAt))} ago`;
  const size = sizeBytes === null ? "" : `, ${formatBytes(sizeBytes)}`;
  const who =
    writer === null
      ? ""
      : writer.isActive
        ? `; ${shownName(writer.name)} writes it`
        : `; last written by ${shownName(writer.name)}`;
  const count = `${formatCount(checkpoints)} checkpoint${checkpoints === 1 ? "" : "s"}`;
  const newest = newestStep === null ? "nothing to go on from" : `${stepWords(newestStep)}${size}${age}`;
  return `${shownName(run)}: ${newest}; ${count}${who}`;
}
