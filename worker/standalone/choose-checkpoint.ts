import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { isAdopted } from "#protocol/checkpoint/adopted.ts";
import { byNewest, KINDS_BY_TRUST, type CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import type { DoubtfulPoint, RestorePoint } from "#protocol/checkpoint/continue-words.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { FoundCheckpoint } from "#protocol/wire/hello.ts";
import type { RunName } from "#protocol/base/names.ts";
import { nameOfPlace, placeOf, shownPlace, type ShownPlace } from "#protocol/checkpoint/place.ts";
import { abandonedIn, type ListedCheckpoint, type RunRecord, type RunRecords } from "./run-record.ts";

/** Chooses a checkpoint of a run by the rules of the hub: `server/core/runs/newest.ts`. */

export interface Chosen {
  listed: ListedCheckpoint;
  manifest: StoredManifest;
}

export interface Choosing {
  records: RunRecords;
  record: RunRecord;
  /** Found damaged by any node: chosen only when there is no other checkpoint. */
  damaged: ReadonlySet<string>;
}

/** Combines the bucket's record of a run with the checkpoints that this node found damaged. */
export const choosingFrom = (
  records: RunRecords,
  record: RunRecord,
  found: ReadonlySet<string> = new Set(),
): Choosing => ({
  records: withDoubts(records, record.doubted),
  record,
  damaged: new Set([...record.damaged, ...found]),
});

/** Returns records with the doubts that arose after their manifests were written. */
const withDoubts = (records: RunRecords, doubted: ReadonlyMap<string, string>): RunRecords => ({
  ...records,
  manifest: async (listed) => {
    const read = await records.manifest(listed);
    const { manifest } = read;
    const doubt = doubted.get(manifest.id);
    if (doubt === undefined || isAdopted(manifest)) return read;
    return { ...read, manifest: { ...manifest, doubt: manifest.doubt ?? doubt } };
  },
});

const roleOf = (manifest: StoredManifest): CheckpointRole | null => manifest.role ?? null;
const doubtOf = (manifest: StoredManifest): string | null => (isAdopted(manifest) ? null : (manifest.doubt ?? null));
const isPiece = (manifest: StoredManifest): boolean =>
  !isAdopted(manifest) && manifest.piece !== undefined && manifest.joined === undefined;

/**
 * Returns whether a program may continue from it automatically: it is no final model, and complete as far as its files
 * show.
 */
const isResumable = (manifest: StoredManifest): boolean => roleOf(manifest) === null && doubtOf(manifest) === null;

/**
 * Returns the first suitable one of `listed`; skips those whose manifests are missing or unreadable. Faults: those of
 * the store.
 */
async function firstOf(
  records: RunRecords,
  listed: readonly ListedCheckpoint[],
  fits: (manifest: StoredManifest) => boolean,
): Promise<Chosen | null> {
  for (const one of listed) {
    try {
      const { manifest } = await records.manifest(one);
      if (fits(manifest)) return { listed: one, manifest };
    } catch (error) {
      if (!isFault(error) || error.code !== "CHECKPOINT_INCOMPLETE") throw error;
    }
  }
  return null;
}

/** Prefers checkpoints that are not known to be damaged. */
async function soundFirst(
  { records, damaged }: Choosing,
  listed: readonly ListedCheckpoint[],
  fits: (manifest: StoredManifest) => boolean,
): Promise<Chosen | null> {
  const sound = listed.filter(({ checkpointId }) => !damaged.has(checkpointId));
  const found = await firstOf(records, sound, fits);
  return found ?? (sound.length === listed.length ? null : firstOf(records, listed, fits));
}

/**
 * Returns the newest checkpoint from which a run continues automatically; null when it has none. Faults: those of the
 * store.
 */
export function newestOf(choosing: Choosing): Promise<Chosen | null> {
  const abandoned = abandonedIn(choosing.record);
  const listed = choosing.record.checkpoints.filter(({ checkpointId }) => !abandoned.has(checkpointId));
  return soundFirst(choosing, listed, isResumable);
}

/** Returns the newest of any kind, abandoned and doubtful ones included. Faults: those of the store. */
export const newestOfAny = ({ records, record }: Choosing): Promise<Chosen | null> =>
  firstOf(records, record.checkpoints, () => true);

/**
 * Returns the newest checkpoint of one step; a doubtful or abandoned one only when there is no other. Faults: those of
 * the store.
 */
export async function newestOfStep(choosing: Choosing, step: number): Promise<Chosen | null> {
  const abandoned = abandonedIn(choosing.record);
  const all = choosing.record.checkpoints.filter((one) => one.step === step);
  const listed = all.filter(({ checkpointId }) => !abandoned.has(checkpointId));
  const isWhole = (manifest: StoredManifest) => roleOf(manifest) === null && !isPiece(manifest);
  return (
    (await soundFirst(choosing, listed, isResumable)) ??
    (await firstOf(choosing.records, listed, isWhole)) ??
    firstOf(choosing.records, all, isWhole)
  );
}

/**
 * Returns the newest doubtful checkpoint that is later than `newest`; null when there is none. Faults: those of the
 * store.
 */
export function doubtfulAfter(choosing: Choosing, newest: Chosen | null): Promise<Chosen | null> {
  const abandoned = abandonedIn(choosing.record);
  const later = choosing.record.checkpoints.filter(
    (one) => !abandoned.has(one.checkpointId) && (newest === null || byNewest(one, newest.listed) < 0),
  );
  const fits = (manifest: StoredManifest) =>
    roleOf(manifest) === null && doubtOf(manifest) !== null && !isPiece(manifest);
  return firstOf(choosing.records, later, fits);
}

/**
 * Returns the newest doubtful final model that no later complete one replaces; null when there is none. Searches only
 * as far back as `newest`, because a final model is the last checkpoint of a run. Faults: those of the store.
 */
async function doubtfulFinal({ records, record }: Choosing, newest: Chosen | null): Promise<StoredManifest | null> {
  const late = record.checkpoints.filter(({ writerEpoch, step }) => {
    if (newest === null) return true;
    return byNewest({ writerEpoch, step }, newest.listed) <= 0;
  });
  const finals: StoredManifest[] = [];
  await firstOf(records, late, (manifest) => {
    if (roleOf(manifest) === "final-model") finals.push(manifest);
    return false;
  });
  const latest = finals.toSorted((a, b) => b.capturedAt - a.capturedAt)[0];
  return latest !== undefined && doubtOf(latest) !== null ? latest : null;
}

/** Returns the later checkpoint and the final model that may be incomplete. Faults: those of the store. */
async function doubtfulPoints(choosing: Choosing, newest: Chosen | null): Promise<DoubtfulPoint[]> {
  const step = await doubtfulAfter(choosing, newest);
  const final = await doubtfulFinal(choosing, newest);
  return [
    ...(step === null ? [] : [{ step: step.listed.step, why: doubtOf(step.manifest) ?? "" }]),
    ...(final === null ? [] : [{ step: final.step, why: doubtOf(final) ?? "", role: "final-model" as const }]),
  ];
}

/**
 * Returns the checkpoints from which a run can be continued, by its bucket; null for a run that is not in the bucket.
 * Sets `trashedStep` only when nothing else is left, as a hub does. Faults: those of the store.
 */
export async function restorePointOf(choosing: Choosing, run: RunName): Promise<RestorePoint | null> {
  const { records, record, damaged } = choosing;
  if (record.checkpoints.length === 0 && record.trashed.length === 0 && record.claims.length === 0) return null;
  const newest = await newestOf(choosing);
  const found = await doubtfulPoints(choosing, newest);
  const doubtful = found.length > 0 && { doubtful: found };
  if (newest !== null) {
    const { step, checkpointId } = newest.listed;
    return { run, newest: { step, isDamaged: damaged.has(checkpointId) }, trashedStep: null, ...doubtful };
  }
  const abandoned = abandonedIn({ ...record, checkpoints: record.trashed });
  const trashed = record.trashed.filter(({ checkpointId }) => !abandoned.has(checkpointId));
  const whole = await firstOf(records, trashed, isResumable);
  return { run, newest: null, trashedStep: whole?.listed.step ?? null, ...doubtful };
}

export interface CheckpointRequest {
  step?: number | undefined;
  before?: number | undefined;
  name?: string | undefined;
  role?: CheckpointRole | undefined;
}

/** Returns the newest of a role, by `KINDS_BY_TRUST`; null when there is none. Faults: those of the store. */
async function newestOfRole({ records, record, damaged }: Choosing, role: CheckpointRole): Promise<Chosen | null> {
  for (const { isDamaged, isDoubtful } of KINDS_BY_TRUST) {
    const listed = record.checkpoints.filter(({ checkpointId }) => damaged.has(checkpointId) === isDamaged);
    const fits = (manifest: StoredManifest) => roleOf(manifest) === role && (doubtOf(manifest) !== null) === isDoubtful;
    const found = await firstOf(records, listed, fits);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Returns the checkpoint that a `findCheckpoint` call asks for; null when there is none. Faults: those of the store.
 */
export async function chooseWanted(choosing: Choosing, request: CheckpointRequest): Promise<Chosen | null> {
  const { records, record } = choosing;
  const { step, before, name, role } = request;
  if (role !== undefined) return newestOfRole(choosing, role);
  if (name !== undefined) {
    const step = /^checkpoint-(\d{1,12})$/.exec(name)?.[1];
    const own = await firstOf(
      records,
      record.checkpoints,
      (manifest) => isResumable(manifest) && nameOfPlace(placeIn(manifest)?.path ?? "") === name,
    );
    if (own !== null || step === undefined) return own;
    const ofStep = record.checkpoints.filter((one) => one.step === Number(step));
    return firstOf(records, ofStep, (manifest) => isResumable(manifest) && placeIn(manifest) === null);
  }
  if (before !== undefined) {
    const of = await newestOfStep(choosing, before);
    if (of === null) return null;
    const abandoned = abandonedIn(record);
    const earlier = record.checkpoints.filter(
      (one) =>
        byNewest(one, of.listed) > 0 && !abandoned.has(one.checkpointId) && !choosing.damaged.has(one.checkpointId),
    );
    return firstOf(
      records,
      earlier,
      (manifest) => doubtOf(manifest) === null && roleOf(manifest) === roleOf(of.manifest),
    );
  }
  if (step === undefined) return newestOf(choosing);
  // A checkpoint in the trash is found by its step until it is deleted.
  const inTrash = record.trashed.filter((one) => one.step === step);
  return (await newestOfStep(choosing, step)) ?? firstOf(records, inTrash, () => true);
}

/** Returns where a restore puts a checkpoint below its watched folder, as far as its manifest shows. */
export const placeOfStored = (manifest: StoredManifest): ShownPlace => placeOf(manifest, placeIn(manifest));

const placeIn = (manifest: StoredManifest) =>
  isAdopted(manifest) || manifest.place === undefined ? null : shownPlace.parse(manifest.place);

/** Returns the description of a checkpoint that nodes receive. */
export function foundOf(run: RunName, { listed, manifest }: Chosen): FoundCheckpoint {
  const place = placeIn(manifest);
  return {
    checkpointId: listed.checkpointId,
    run,
    writerEpoch: listed.writerEpoch,
    step: listed.step,
    capturedAt: manifest.capturedAt,
    ...(place !== null && { place }),
  };
}
