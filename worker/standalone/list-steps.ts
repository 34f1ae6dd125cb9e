import { isAdopted, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import { isArchivedCode, isFault } from "#protocol/faults/fault.ts";
import type { ShownPlace } from "#protocol/checkpoint/place.ts";
import { newestOf, placeOfStored, type Choosing } from "./choose-checkpoint.ts";
import { abandonedIn, type ListedCheckpoint } from "./run-record.ts";

/**
 * State of a checkpoint. The run continues from the `newest`, and can continue from each `complete` one; from the
 * others it never continues automatically.
 */
export type StepState =
  | "newest"
  | "complete"
  | "final"
  | "doubtful"
  | "damaged"
  | "left-behind"
  | "trashed"
  | "unreadable";

/** A checkpoint in a bucket, for people. */
export interface ListedStep {
  step: number;
  epoch: number;
  state: StepState;
  /** Why the run does not continue from it automatically; null for the newest and for complete ones. */
  why: string | null;
  /** Null when the manifest cannot be read. */
  sizeBytes: number | null;
  node: string | null;
  /**
   * Place in its watched folder, to which a restore returns it; null when its manifest hides it or does not have it.
   */
  place: ShownPlace | null;
  /** Epoch ms by the store's clock. */
  committedAt: number;
}

/**
 * Lists at most `most` checkpoints of a run, the newest first and the trash last. Reads the manifest of each, `width`
 * in parallel. Faults: those of the store.
 */
export async function listSteps(
  choosing: Choosing,
  { most, width }: { most: number; width: number },
): Promise<{ steps: ListedStep[]; older: number }> {
  const { record } = choosing;
  const newest = await newestOrNull(choosing);
  const abandoned = abandonedIn(record);
  const all = [...record.checkpoints, ...record.trashed];
  const steps: ListedStep[] = [];
  await forEachOf([...all.slice(0, most).entries()], width, async ([at, one]) => {
    const read = await readOrWhy(choosing, one);
    const { checkpointId, step, writerEpoch: epoch, committedAt } = one;
    const isTrashed = at >= record.checkpoints.length;
    const { state, why } = judge(read, {
      isNewest: checkpointId === newest,
      isDamaged: choosing.damaged.has(checkpointId),
      isLeftBehind: abandoned.has(checkpointId),
      trashedUntil: isTrashed ? (record.retention.get(checkpointId)?.trash?.until ?? null) : null,
    });
    const manifest = typeof read === "string" ? null : read;
    const node = manifest === null || isAdopted(manifest) ? null : manifest.node.name;
    const place = manifest === null || isHidden(manifest) ? null : placeOfStored(manifest);
    steps[at] = { step, epoch, state, why, sizeBytes: manifest?.sizeBytes ?? null, node, place, committedAt };
  });
  return { steps, older: Math.max(0, all.length - most) };
}

/**
 * Returns the id of the newest; null when there is none, or when a manifest that decides is archived: the run is
 * refused then.
 */
async function newestOrNull(choosing: Choosing): Promise<string | null> {
  try {
    return (await newestOf(choosing))?.listed.checkpointId ?? null;
  } catch (error) {
    if (isFault(error) && isArchivedCode(error.code)) return null;
    throw error;
  }
}

/** Returns whether the names of a checkpoint, and so its place, are readable only with its key. */
const isHidden = (manifest: StoredManifest): boolean => isSealed(manifest) && manifest.transform.hideNames;

/** Returns the manifest, or the reason why it cannot be read. */
async function readOrWhy({ records }: Choosing, one: ListedCheckpoint): Promise<StoredManifest | string> {
  try {
    return (await records.manifest(one)).manifest;
  } catch (error) {
    if (isFault(error) && isArchivedCode(error.code))
      return "its manifest is archived: restore it first where it is stored";
    if (!isFault(error) || error.code !== "CHECKPOINT_INCOMPLETE") throw error;
    return error.context.detail ?? "its manifest cannot be read";
  }
}

interface Facts {
  isNewest: boolean;
  isDamaged: boolean;
  isLeftBehind: boolean;
  /** Epoch ms; null when it is not in the trash. */
  trashedUntil: number | null;
}

function judge(read: StoredManifest | string, facts: Facts): Pick<ListedStep, "state" | "why"> {
  if (facts.trashedUntil !== null) {
    const until = new Date(facts.trashedUntil).toISOString();
    return { state: "trashed", why: `in the trash, deleted after ${until}` };
  }
  if (typeof read === "string") return { state: "unreadable", why: read };
  if (facts.isDamaged) return { state: "damaged", why: "it was read back and found damaged" };
  if (!isAdopted(read)) {
    if (read.role !== undefined) return { state: "final", why: "a final model" };
    if (read.doubt !== undefined) return { state: "doubtful", why: read.doubt };
  }
  if (facts.isLeftBehind) return { state: "left-behind", why: "a person went on from an earlier step (--from)" };
  return { state: facts.isNewest ? "newest" : "complete", why: null };
}
