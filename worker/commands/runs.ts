import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { writerLease, writerLeaseKey, type WriterLease } from "#protocol/checkpoint/writer-lease.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import { shownName, usage, type Verb } from "../command-line/verb.ts";
import type { BucketCalls } from "../standalone/bucket-calls.ts";
import { openBucket, readTo, type OpenBucket } from "../standalone/open-standalone.ts";
import { readManifestName, type ListedCheckpoint } from "../standalone/run-record.ts";

interface ShownRun {
  run: RunName;
  /** Of complete checkpoints; null without any. */
  newestStep: number | null;
  checkpoints: number;
  /** Of the newest checkpoint. */
  sizeBytes: number | null;
  /** Epoch ms by the store's clock. */
  committedAt: number | null;
  writer: { name: string; isActive: boolean } | null;
}

const LANES = 8;

/**
 * `tidemark runs --to s3://bucket/prefix`: what a bucket holds, without a hub. Two listings, and two small objects for each run.
 * Faults: BAD_INPUT, those of the store.
 */
export async function showRuns({ config, terminal, signal }: Verb): Promise<number> {
  const to = config.text("to");
  if (to === null) throw usage("--to", "it says where to look: tidemark runs --to s3://bucket/prefix");
  const { bucket, prefix } = readTo(to);
  const opened = await openBucket(config, { bucket, prefix, signal });
  try {
    const runs = await readRuns(opened, prefix);
    const now = opened.calls.now();
    terminal.result(runs.length === 0 ? "No checkpoints there." : runs.map((run) => lineOf(run, now)).join("\n"), {
      type: "runs",
      runs,
    });
    return 0;
  } finally {
    await opened.close();
  }
}

async function readRuns({ calls, records }: OpenBucket, prefix: string): Promise<ShownRun[]> {
  const folder = `${prefix}${OWN_FOLDERS.manifests}`;
  const newest = new Map<RunName, { listed: ListedCheckpoint; checkpoints: number }>();
  for await (const { key, modifiedAtMs } of calls.list(folder)) {
    const [name = "", ...rest] = key.slice(folder.length).split("/");
    const run = runName.safeParse(name);
    const read = readManifestName(rest.join("/"));
    if (!run.success || read === null) continue;
    const listed = { ...read, key, committedAt: modifiedAtMs ?? 0 };
    const known = newest.get(run.data);
    // The names of keys sort by epoch and step.
    const isNewer = known === undefined || key > known.listed.key;
    newest.set(run.data, { listed: isNewer ? listed : known.listed, checkpoints: (known?.checkpoints ?? 0) + 1 });
  }
  const shown: ShownRun[] = [];
  await forEachOf([...newest], LANES, async ([run, { listed, checkpoints }]) => {
    const { manifest } = await records.manifest(listed);
    const lease = await readWriter(calls, { prefix, run });
    shown.push({
      run,
      newestStep: listed.step,
      checkpoints,
      sizeBytes: manifest.sizeBytes,
      committedAt: listed.committedAt,
      writer: lease === null ? null : { name: lease.node.name, isActive: lease.until > calls.now() },
    });
  });
  return shown.toSorted((a, b) => (b.committedAt ?? 0) - (a.committedAt ?? 0));
}

async function readWriter(calls: BucketCalls, at: { prefix: string; run: RunName }): Promise<WriterLease | null> {
  const found = await calls.read(writerLeaseKey(at.prefix, at.run));
  try {
    return found === null ? null : (writerLease.safeParse(JSON.parse(found.text)).data ?? null);
  } catch {
    return null;
  }
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
  return `${shownName(run)}: step ${formatCount(newestStep ?? 0)}${size}${age}; ${count}${who}`;
}
