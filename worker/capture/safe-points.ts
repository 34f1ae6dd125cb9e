import { byNewest } from "#protocol/checkpoint/checkpoint.ts";
import type { ShownPlace, StepSource } from "#protocol/checkpoint/place.ts";

/** The newest safe checkpoint of each run, and the newest piece that waits for those of other nodes. Pure. */

export interface SafePoint {
  step: number;
  at: number;
  sizeBytes: number;
  /** Writer epoch of the checkpoint; null where an older worker noted it. */
  epoch: number | null;
  /** The checkpoint; absent where it was not captured here, or by an older worker. */
  checkpointId?: string | undefined;
  /** Origin of the step; absent where an older worker noted it. */
  source?: StepSource | undefined;
  /** Where it lies in its watched folder; absent where that is not known. */
  place?: ShownPlace | undefined;
}

/** The newest piece of this node that is in the bucket and whose step is not known to be whole. */
export interface KeptPiece extends SafePoint {
  files: number;
}

interface Points {
  safe: Map<string, SafePoint>;
  safeBefore: Map<string, SafePoint>;
  pieces: Map<string, KeptPiece>;
  epochs: ReadonlyMap<string, number>;
}

/** Notes the safe point of a run, whatever it was before. */
export function noteSafe({ safe, safeBefore, pieces }: Points, run: string, point: SafePoint): void {
  const before = safe.get(run);
  if (before !== undefined && before.checkpointId !== point.checkpointId) safeBefore.set(run, before);
  safe.set(run, point);
  const piece = pieces.get(run);
  if (piece !== undefined && isNewerPoint(point, piece)) pieces.delete(run);
}

/** Takes back a safe point whose checkpoint turned out to be half; the one before it counts again. */
export function forgetDoubted(
  { safe, safeBefore }: Points,
  { run, checkpointId }: { run: string; checkpointId: string },
): void {
  const before = safeBefore.get(run);
  if (before?.checkpointId === checkpointId) safeBefore.delete(run);
  if (safe.get(run)?.checkpointId !== checkpointId) return;
  if (before === undefined) safe.delete(run);
  else safe.set(run, before);
  safeBefore.delete(run);
}

/** Notes a piece, unless a newer one is known or the step is safe. */
export function notePiece({ pieces, safe }: Points, run: string, piece: KeptPiece): void {
  const isPassed = [safe.get(run), pieces.get(run)].some((known) => known !== undefined && isNewerPoint(known, piece));
  if (!isPassed) pieces.set(run, piece);
}

/** Returns the newest piece of the run's present epoch that waits for the pieces of other nodes; null: none does. */
export function openPieceOf({ pieces, epochs }: Pick<Points, "pieces" | "epochs">, run: string): KeptPiece | null {
  const piece = pieces.get(run);
  return piece === undefined || piece.epoch !== (epochs.get(run) ?? null) ? null : piece;
}

/** Returns the point alone, without other properties of the given object. */
export const pointOf = ({ step, at, sizeBytes, epoch, checkpointId, source, place }: SafePoint): SafePoint => ({
  step,
  at,
  sizeBytes,
  epoch,
  ...(checkpointId !== undefined && { checkpointId }),
  ...(source !== undefined && { source }),
  ...(place !== undefined && { place }),
});

/** Returns whether `point` is as new as `other` by the rule of the hub: highest epoch, then highest step. */
export function isNewerPoint(point: SafePoint, other: SafePoint): boolean {
  // An older worker noted no epoch: the time of writing then decides where the step does not.
  if (point.epoch === null || other.epoch === null) return other.step <= point.step || other.at <= point.at;
  return byNewest(keyOf(point, point.epoch), keyOf(other, other.epoch)) <= 0;
}

const keyOf = ({ step }: SafePoint, writerEpoch: number) => ({ step, writerEpoch });
