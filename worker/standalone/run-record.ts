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

/** The record of one run in its bucket: who wrote it, and which checkpoints are complete. A checkpoint is complete when its manifest lies there. */
export interface RunRecord {
  /** By epoch, oldest first. */
  claims: readonly EpochClaim[];
  /** Newest first. */
  checkpoints: readonly ListedCheckpoint[];
  /** Checkpoints in the trash, newest first. */
  trashed: readonly ListedCheckpoint[];
  /** Ids of checkpoints that were read back and found damaged, by any node or hub. */
  damaged: ReadonlySet<string>;
  /** Why checkpoints are doubtful of which their node learned after the commit that files are missing, by id. */
  doubted: ReadonlyMap<string, string>;
  /** Retention state of each checkpoint that has a retention record, by its id. */
  retention: ReadonlyMap<string, Retention>;
  /** The highest epoch that any claim or manifest names, also one that cannot be read; 0 without any. */
  highestEpoch: number;
}

/** As much of a checkpoint as its manifest's key and the listing say. */
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

/** Reads a key below `manifests/`; null where it is none of a manifest. */
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
  /** Faults: those of the store: what cannot be read is not nothing. */
  read(run: RunName): Promise<RunRecord>;
  /**
   * As `read`, with only those claims that are newer than the newest checkpoint: they decide whether a person left it behind. It
   * does not tell that of older checkpoints. Faults: those of the store.
   */
  readNewest(run: RunName): Promise<RunRecord>;
  /** Returns a manifest and its text as it is stored. Faults: CHECKPOINT_INCOMPLETE when it is none, those of the store. */
  manifest(listed: Pick<ListedCheckpoint, "key">): Promise<{ manifest: StoredManifest; text: string }>;
  /** Finds a checkpoint by its number, of whatever run; null where there is none. Faults: those of the store. */
  find(checkpointId: string): Promise<ListedCheckpoint | null>;
}

const MOST_MANIFESTS = 64;
/** A manifest with more is fetched each time: 64 of them would fill the memory of a node. */
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

  /** A claim that cannot be read keeps its number, and nobody from the others. */
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

/** Null also for what is no text, or more than any manifest. Faults: those of the store. */
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
 * Returns the checkpoints that a person left behind with `--from`: those of earlier epochs that are newer than where a chosen epoch
 * started. One that was chosen itself later counts again.
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

/** Returns the line that the newest epoch goes on with: its checkpoints, and those of each parent up to the step it went on from. */
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
