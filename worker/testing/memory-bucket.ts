import { manifest, type EpochClaim, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { attemptId, filePath, runName } from "#protocol/base/names.ts";
import { dataKey, epochClaimKey, keepRecordKey, manifestKey } from "#protocol/checkpoint/keys.ts";
import type { KeepRecord } from "#protocol/retention/keeping.ts";
import type { BucketCalls } from "../standalone/bucket-calls.ts";

/** Creates a bucket in memory that honors or ignores conditional requests. */
export function createBucket({ isConditional = true } = {}) {
  const objects = new Map<string, { text: string; etag: string; modifiedAtMs: number }>();
  const clock = { now: 1_000_000 };
  let etags = 0;
  const calls: BucketCalls = {
    now: () => clock.now,
    width: 8,
    read: async (key) => objects.get(key) ?? null,
    write: async (key, text, condition) => {
      const there = objects.get(key);
      const holds =
        condition === undefined || (condition.kind === "absent" ? there === undefined : there?.etag === condition.etag);
      if (isConditional && !holds) return null;
      const etag = `"${++etags}"`;
      objects.set(key, { text, etag, modifiedAtMs: clock.now });
      return etag;
    },
    list: async function* (prefix) {
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted();
      for (const key of keys) {
        const { text, etag, modifiedAtMs } = objects.get(key) ?? { text: "", etag: null, modifiedAtMs: null };
        yield { key, sizeBytes: text.length, etag, modifiedAtMs };
      }
    },
    archiveState: () => Promise.resolve("readable"),
    folders: async (prefix) => {
      const below = [...objects.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
      return [
        ...new Set(below.flatMap((name) => (name.includes("/") ? [name.slice(0, name.indexOf("/"))] : []))),
      ].toSorted();
    },
    remove: async (key) => void objects.delete(key),
  };
  return { objects, clock, calls };
}

export const RUN = runName.parse("llama");
export const PREFIX = "p/";

/** Stores a manifest and one object of its attempt; returns the id of the checkpoint. */
export function storeCheckpoint(
  { objects, clock }: ReturnType<typeof createBucket>,
  about: { epoch: number; step: number } & Partial<Pick<Manifest, "doubt" | "role" | "place" | "metrics" | "joined">>,
): string {
  const { epoch, step, ...more } = about;
  const id = `checkpoint-${epoch}-${step}`;
  const attempt = attemptId.parse(`attempt${String(epoch).padStart(3, "0")}${String(step).padStart(6, "0")}`);
  const made: Manifest = manifest.parse({
    format: "tidemark.checkpoint",
    version: 1,
    id,
    run: RUN,
    step,
    writerEpoch: epoch,
    parent: null,
    attempt,
    node: { id: "node-0001", name: "one" },
    framework: null,
    metrics: {},
    capturedAt: 5,
    sizeBytes: 0,
    homes: [{ profileId: "standalone", bucket: "b", prefix: PREFIX }],
    transform: { kind: "none" },
    files: [{ path: filePath.parse("empty"), sizeBytes: 0, mtimeMs: 1, sha256: null, extents: [] }],
    ...more,
  });
  const data = dataKey(PREFIX, { run: RUN, epoch, attempt, path: filePath.parse("weights") });
  objects.set(data, { text: "w", etag: '"d"', modifiedAtMs: clock.now });
  const key = manifestKey(PREFIX, { run: RUN, epoch, step, checkpointId: id, attempt });
  objects.set(key, { text: JSON.stringify(made), etag: '"m"', modifiedAtMs: clock.now });
  return id;
}

/** Stores the claim of an epoch. */
export function storeClaim(
  { objects }: ReturnType<typeof createBucket>,
  about: Pick<EpochClaim, "epoch" | "branch" | "isChosen"> & { parent?: EpochClaim["parent"] },
): void {
  const node = { id: "node-of-one", name: "one" };
  const claim = { format: "tidemark.epoch", version: 1, run: RUN, parent: null, node, claimedAt: 1, ...about };
  const key = epochClaimKey(PREFIX, { run: RUN, epoch: about.epoch });
  objects.set(key, { text: JSON.stringify(claim), etag: '"c"', modifiedAtMs: 1 });
}

/** Stores a retention record as a hub writes it; returns its id. */
export function storeRecord(
  { objects, clock }: ReturnType<typeof createBucket>,
  about: Pick<KeepRecord, "checkpointId" | "word"> & { ends?: string[] },
): string {
  const { checkpointId, word, ends = [] } = about;
  const id = `record-${objects.size}`;
  const by = "person@example.com";
  const record: KeepRecord = {
    format: "tidemark.keeping",
    version: 1,
    id,
    run: RUN,
    checkpointId,
    at: 1,
    by,
    ends,
    word,
  };
  const key = keepRecordKey(PREFIX, { run: RUN, checkpointId, id, kind: word.kind });
  objects.set(key, { text: JSON.stringify(record), etag: '"r"', modifiedAtMs: clock.now });
  return id;
}
