import type { AttemptId, RunName } from "#protocol/base/names.ts";
import { attemptId } from "#protocol/base/names.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { attemptPrefix, OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { whyKept, type RunFacts } from "#storage/manifest/classify-orphan.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { readManifestKey, type RunRecord, type RunRecords } from "./run-record.ts";

/**
 * Deletes the objects of attempts that no manifest names, by the rule of the hub's janitor: only attempts of epochs
 * that ended more than a day ago, and only whole attempts.
 */

interface OrphanParts {
  calls: BucketCalls;
  records: RunRecords;
  prefix: string;
  /** Checks that this node still writes the run. @throws Fault EPOCH_OVER when another node does, those of the store */
  assertWriter(): Promise<void>;
}

interface Attempt {
  run: RunName;
  epoch: number;
  attempt: AttemptId;
}

const LANES = 8;
/** Attempts examined per pass; the next pass continues. */
const MOST_ATTEMPTS = 100;
/** Attempts with more objects are skipped, because their list would fill the memory of a node. */
const MOST_OBJECTS = 100_000;

/**
 * Deletes orphans. Returns the number of deleted objects and their bytes. @throws Fault EPOCH_OVER, those of the store
 */
export async function removeOrphans(parts: OrphanParts, run: RunName): Promise<{ count: number; bytes: number }> {
  const removed = { count: 0, bytes: 0 };
  const record = await parts.records.read(run);
  // The objects of a joined checkpoint lie in several places, which only a hub knows.
  if (record.claims.some(({ groupOf }) => groupOf !== undefined)) return removed;
  const facts = factsOf(record);
  for (const at of (await unnamedAttempts(parts, { run, facts })).slice(0, MOST_ATTEMPTS)) {
    const found = await readAttempt(parts, at);
    if (found === null || whyKept(facts, { epoch: at.epoch, isNamed: false, ...found }, parts.calls.now()) !== null)
      continue;
    await parts.assertWriter();
    await forEachOf(found.keys, LANES, (key) => parts.calls.remove(key));
    removed.count += found.keys.length;
    removed.bytes += found.bytes;
  }
  return removed;
}

const factsOf = ({ claims, highestEpoch }: RunRecord): RunFacts => ({
  currentEpoch: claims.at(-1)?.epoch ?? 0,
  highestInBucket: highestEpoch,
  claimedAt: new Map(claims.map(({ epoch, claimedAt }) => [epoch, claimedAt])),
});

/** Lists folders only: a request for each epoch, and for each thousand attempts. */
async function unnamedAttempts(
  { calls, prefix }: OrphanParts,
  { run, facts }: { run: RunName; facts: RunFacts },
): Promise<Attempt[]> {
  const folder = `${prefix}${OWN_FOLDERS.data}${run}/`;
  const attempts: Attempt[] = [];
  for (const name of await calls.folders(folder)) {
    const epoch = Number(/^e(\d{6})$/.exec(name)?.[1] ?? Number.NaN);
    if (!facts.claimedAt.has(epoch) || epoch >= facts.currentEpoch) continue;
    for (const below of await calls.folders(`${folder}${name}/`)) {
      const attempt = attemptId.safeParse(below);
      if (attempt.success) attempts.push({ run, epoch, attempt: attempt.data });
    }
  }
  // Read after the attempts, so that a manifest written meanwhile is seen.
  const named = new Set<string>();
  for await (const { key } of calls.list(`${prefix}${OWN_FOLDERS.manifests}${run}/`)) {
    const read = readManifestKey(key);
    if (read !== null) named.add(`${read.writerEpoch}/${read.attempt}`);
  }
  return attempts.filter(({ epoch, attempt }) => !named.has(`${epoch}/${attempt}`));
}

/** Returns the objects of an attempt, and the time of the youngest (epoch ms); 0 when the store does not tell. */
async function readAttempt(
  { calls, prefix }: OrphanParts,
  at: Attempt,
): Promise<{ keys: string[]; bytes: number; modifiedAt: number } | null> {
  const keys: string[] = [];
  let [bytes, modifiedAt, isDated] = [0, 0, true];
  for await (const { key, sizeBytes, modifiedAtMs } of calls.list(attemptPrefix(prefix, at))) {
    if (keys.push(key) > MOST_OBJECTS) return null;
    bytes += sizeBytes;
    isDated &&= modifiedAtMs !== null;
    modifiedAt = Math.max(modifiedAt, modifiedAtMs ?? 0);
  }
  return { keys, bytes, modifiedAt: isDated ? modifiedAt : 0 };
}
