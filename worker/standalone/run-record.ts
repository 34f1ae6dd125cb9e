import { ADOPTED_EPOCH, storedManifest, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { byNewest, epochClaim, type EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { id, type RunName } from "#protocol/base/names.ts";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { createFindings } from "./findings.ts";
import { createRetentionRecords, type Retention } from "./retention-records.ts";

/**
 * Record of one run in its bucket: its writers and its complete checkpoints. A checkpoint is complete when its manifest
 * exists.
 */
export interface RunRecord {
  /** By epoch, oldest first. */
  claims: readonly EpochClaim[];
  /** Newest first. */
  checkpoints: readonly ListedCheckpoint[];
  /** Checkpoints in the trash, newest first. */
  trashed: readonly ListedCheckpoint[];
  /** Ids of checkpoints that any node or hub has verified and found damaged. */
  damaged: ReadonlySet<string>;
  /** Reasons why checkpoints are doubtful, by id: after the commit their node learned that files are missing. */
  doubted: ReadonlyMap<string, string>;
  /** Retention state of each checkpoint that has a retention record, by id. */
  retention: ReadonlyMap<string, Retention>;
  /** Highest epoch that any claim or manifest names, unreadable ones included; 0 without any. */
  highestEpoch: number;
}

/** Facts about a checkpoint from its manifest's key and the listing. */
export interface ListedCheckpoint {
  checkpointId: string;
  writerEpoch: number;
  step: number;
  key: string;
  /** Epoch ms by the store's clock: when it was committed. */
  committedAt: number;
}

interface ListedClaim {
  key: string;
  epoch: number;
}

const MANIFEST_NAME = /^e(\d{6})\/s(\d{12})-(.+)-([a-z0-9]{12,32})\.json$/;
const CLAIM_NAME = /^e(\d{6})\.json$/;

/** Parses a key below `manifests/`; null when it is not the key of a manifest. */
export function readManifestKey(
  key: string,
): (Pick<ListedCheckpoint, "checkpointId" | "writerEpoch" | "step"> & { attempt: string }) | null {
  const match = MANIFEST_NAME.exec(key.slice(key.lastIndexOf("/e") + 1));
  const checkpointId = id.safeParse(match?.[3]);
  if (match === null || !checkpointId.success) return null;
  const [, epoch, step, , attempt = ""] = match;
  return { checkpointId: checkpointId.data, writerEpoch: Number(epoch), step: Number(step), attempt };
}

/** Reads the bucket's record of runs. Objects that never change are fetched once. */
export interface RunRecords {
  /** Reads the record of a run. Fails when any part cannot be read. Faults: those of the store. */
  read(run: RunName): Promise<RunRecord>;
  /**
   * Like `read`, but reads only claims newer than the newest checkpoint: they show whether a person left it behind.
   * Does not show that for older checkpoints. Faults: those of the store.
   */
  readNewest(run: RunName): Promise<RunRecord>;
  /**
   * Returns a manifest and its stored text. Faults: CHECKPOINT_INCOMPLETE when it is not a manifest, those of the
   * store.
   */
  manifest(listed: Pick<ListedCheckpoint, "key">): Promise<{ manifest: StoredManifest; text: string }>;
  /** Finds a checkpoint of any run by its id; null when there is none. Faults: those of the store. */
  find(checkpointId: string): Promise<ListedCheckpoint | null>;
}

const MOST_MANIFESTS = 64;
/** Manifests with more files are fetched each time: 64 of them would fill the memory of a node. */
const MOST_KEPT_CHARACTERS = 128 * 1024;

export function createRunRecords(calls: BucketCalls, prefix: string): RunRecords {
  const claims = new Map<string, EpochClaim>();
  const manifests = new Map<string, { manifest: StoredManifest; text: string }>();
  const seen = new Map<string, ListedCheckpoint>();
  const retentionRecords = createRetentionRecords(calls, prefix);
  const findings = createFindings(calls, prefix);

  const listClaims = async (run: RunName): Promise<ListedClaim[]> => {
    const folder = `${prefix}${OWN_FOLDERS.claims}${run}/`;
    const listed: ListedClaim[] = [];
    for await (const { key } of calls.list(folder)) {
      const [, epoch] = CLAIM_NAME.exec(key.slice(folder.length)) ?? [];
      if (epoch !== undefined) listed.push({ key, epoch: Number(epoch) });
    }
    return listed;
  };

  /** Reads claims. A claim that cannot be read keeps its number and has no known node. */
  const readClaims = async (run: RunName, listed: readonly ListedClaim[]): Promise<EpochClaim[]> => {
    await forEachOf(
      listed.filter(({ key }) => !claims.has(key)),
      calls.width,
      async ({ key }) => {
        const found = await readText(calls, key);
        const read = found === null ? null : epochClaim.safeParse(parseJsonOrNull(found.text));
        if (read?.success === true && read.data.run === run) claims.set(key, read.data);
      },
    );
    return listed.flatMap(({ key }) => claims.get(key) ?? []).toSorted((a, b) => a.epoch - b.epoch);
  };

  const listManifests = async (folder: string): Promise<ListedCheckpoint[]> => {
    const listed: ListedCheckpoint[] = [];
    for await (const { key, modifiedAtMs } of calls.list(folder)) {
      const read = readManifestKey(key);
      if (read === null) continue;
      const { checkpointId, writerEpoch, step } = read;
      listed.push({ checkpointId, writerEpoch, step, key, committedAt: modifiedAtMs ?? 0 });
    }
    for (const one of listed) seen.set(one.checkpointId, one);
    return listed;
  };

  const readRun = async (run: RunName, { isNewestOnly }: { isNewestOnly: boolean }): Promise<RunRecord> => {
    const listing = listClaims(run);
    const [listedClaims, early, listed, retention, { damaged, doubted }] = await Promise.all([
      listing,
      isNewestOnly ? null : listing.then((all) => readClaims(run, all)),
      listManifests(`${prefix}${OWN_FOLDERS.manifests}${run}/`),
      retentionRecords.read(run),
      findings.of(run),
    ]);
    // The later of two attempts at one checkpoint counts.
    const newest = listed.toSorted((a, b) => byNewest(a, b) || b.committedAt - a.committedAt);
    const once = new Map<string, ListedCheckpoint>();
    for (const one of newest) if (!once.has(one.checkpointId)) once.set(one.checkpointId, one);
    const isTrashed = ({ checkpointId }: ListedCheckpoint) => retention.get(checkpointId)?.trash != null;
    const all = [...once.values()];
    const checkpoints = all.filter((one) => !isTrashed(one));
    const newestEpoch = checkpoints[0]?.writerEpoch ?? 0;
    const later = listedClaims.filter(({ epoch }) => epoch > newestEpoch);
    return {
      claims: early ?? (await readClaims(run, later)),
      checkpoints,
      trashed: all.filter(isTrashed),
      retention,
      damaged,
      doubted,
      highestEpoch: [...listedClaims.map(({ epoch }) => epoch), ...listed.map(({ writerEpoch }) => writerEpoch)].reduce(
        (most, epoch) => Math.max(most, epoch),
        0,
      ),
    };
  };

  return {
    read: (run) => readRun(run, { isNewestOnly: false }),
    readNewest: (run) => readRun(run, { isNewestOnly: true }),
    manifest: async ({ key }) => {
      const known = manifests.get(key);
      if (known !== undefined) return known;
      const found = await readText(calls, key);
      const read = found === null ? null : storedManifest.safeParse(parseJsonOrNull(found.text));
      if (found === null || read === null || !read.success) {
        const detail =
          found === null
            ? "its manifest is gone, or is no text"
            : (read?.error?.issues[0]?.message ?? "it is no manifest");
        throw new Fault("CHECKPOINT_INCOMPLETE", { op: "readCheckpoint", subject: key, detail });
      }
      const answer = { manifest: read.data, text: found.text };
      if (found.text.length > MOST_KEPT_CHARACTERS) return answer;
      const [oldest] = manifests.keys();
      if (manifests.size >= MOST_MANIFESTS && oldest !== undefined) manifests.delete(oldest);
      manifests.set(key, answer);
      return answer;
    },
    find: async (checkpointId) => {
      if (!seen.has(checkpointId)) await listManifests(`${prefix}${OWN_FOLDERS.manifests}`);
      return seen.get(checkpointId) ?? null;
    },
  };
}

/**
 * Reads a text; null also for an object that is not text or is larger than any manifest. Faults: those of the store.
 */
async function readText(calls: BucketCalls, key: string): Promise<{ text: string } | null> {
  try {
    return await calls.read(key);
  } catch (error) {
    if (isFault(error) && (error.code === "BAD_INPUT" || error.code === "TOO_LARGE")) return null;
    throw error;
  }
}

type Step = Pick<ListedCheckpoint, "writerEpoch" | "step">;

const isAfter = (one: Step, parent: EpochClaim["parent"]): boolean =>
  parent === null || byNewest(one, { writerEpoch: parent.epoch, step: parent.step }) < 0;

/**
 * Returns the checkpoints that a person left behind with `--from`: those of earlier epochs that are newer than the
 * start of a chosen epoch. A checkpoint that was chosen itself later counts again.
 */
export function abandonedIn({ claims, checkpoints }: RunRecord): ReadonlySet<string> {
  const abandoned = new Set<string>();
  for (const { epoch, parent, isChosen } of claims) {
    if (isChosen !== true) continue;
    for (const one of checkpoints) {
      if (one.writerEpoch >= epoch) continue;
      if (isAfter(one, parent)) abandoned.add(one.checkpointId);
      else if (parent !== null && one.writerEpoch === parent.epoch && one.step === parent.step)
        abandoned.delete(one.checkpointId);
    }
  }
  return abandoned;
}

/**
 * Returns the line that the newest epoch continues: its checkpoints, and those of each parent up to the step at which
 * the line branched.
 */
export function lineOf({ claims, checkpoints }: RunRecord): ListedCheckpoint[] {
  const byEpoch = new Map(claims.map((claim) => [claim.epoch, claim]));
  const upTo = new Map<number, number>();
  let wanted = claims.at(-1)?.epoch ?? null;
  let step = Infinity;
  while (wanted !== null && !upTo.has(wanted)) {
    upTo.set(wanted, step);
    const parent: EpochClaim["parent"] = byEpoch.get(wanted)?.parent ?? null;
    step = parent?.step ?? 0;
    wanted = parent === null || parent.epoch === ADOPTED_EPOCH ? null : parent.epoch;
  }
  return checkpoints.filter((one) => one.step <= (upTo.get(one.writerEpoch) ?? -1));
}
