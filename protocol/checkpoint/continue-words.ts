import { stepTitle, stepWords } from "./step-words.ts";
import { formatBytes, formatCount } from "../base/units.ts";
import { visibleText } from "../base/visible-text.ts";
import type { CheckpointRole } from "./checkpoint.ts";

/**
 * Advises how to continue the runs of a node that is away. The hub's record says from which checkpoint a run can continue:
 * the node does not learn that a checkpoint was trashed or found damaged. Only the node knows its disk.
 */

/** A checkpoint, or a final model, that may be incomplete. */
export interface DoubtfulPoint {
  step: number;
  why: string;
  role?: CheckpointRole;
}

/** Says that a checkpoint may be incomplete, and how to use it. */
export const doubtfulWords = (run: string, { step, why, role }: DoubtfulPoint): string =>
  role === "final-model"
    ? `The final model of ${visibleText(run)} is kept as doubtful: ${visibleText(why)}. \`tidemark restore ${visibleText(run)}@final DIR\` restores it all the same.`
    : `${visibleText(run)} ${stepWords(step)} is kept as doubtful: ${visibleText(why)}. \`tidemark run --from ${step}\` goes on from it all the same.`;

/** Says which piece of a step that several nodes write is missing. */
export const openPiecesWords = (run: string, { step, why }: { step: number; why: string }): string =>
  `${visibleText(run)} ${stepWords(step)} is not whole yet: ${visibleText(why)}.`;

/** State of one run in the hub's record. */
export interface RestorePoint {
  run: string;
  /** Newest step from which the run can continue; null: none. `isDamaged`: every checkpoint is damaged. */
  newest: { step: number; isDamaged: boolean } | null;
  /** Newest step in the trash when the run has no other checkpoint; null: none. */
  trashedStep: number | null;
  /** Later ones than `newest`, and a final model, that may be incomplete. Absent: none, or an earlier version. */
  doubtful?: DoubtfulPoint[];
  /** Steps that several nodes write together and that lack a piece. Absent: none, or an earlier version. */
  openPieces?: { step: number; why: string }[];
}

/** State of a run as known to the node that writes it. */
export interface DiskPoint {
  run: string;
  /** Newest step that the node knows to be safe; null: none. */
  safeStep: number | null;
  /** Newest step captured on its disk, and the time; null: none. */
  localStep: number | null;
  localAt: number | null;
  unsafe: { checkpoints: number; bytes: number };
  /** The node's piece of `localStep` is in the bucket, and those of other nodes are missing. */
  isStoredPiece?: true;
}

export interface ContinueFrom extends RestorePoint {
  /** Newest step that exists only on the node's disk, and the bytes that are not safe there; null: none. */
  onDisk: { step: number; bytes: number } | null;
}

export interface ContinueAdvice {
  /** The runs that the text names come first. */
  runs: ContinueFrom[];
  /** One sentence or more for each of at most three runs. Contains untrusted names. Empty when the node writes no run. */
  text: string;
}

/** Largest number of runs that one advice names. */
export const MOST_NAMED = 3;

/** Sorts runs in the order in which advice names them: first those with unsafe work on the disk, then by latest capture. */
export const inNamingOrder = (runs: readonly DiskPoint[]): DiskPoint[] =>
  runs.toSorted(
    (a, b) =>
      Number(b.unsafe.checkpoints > 0) - Number(a.unsafe.checkpoints > 0) ||
      (b.localAt ?? -1) - (a.localAt ?? -1) ||
      (a.run < b.run ? -1 : 1),
  );

/** Combines the record and the disk of one run. `point` undefined: the record does not know the run. */
export function continueFrom(disk: DiskPoint, point: RestorePoint | undefined): ContinueFrom {
  const { run, safeStep, localStep, unsafe } = disk;
  const { newest = null, trashedStep = null, doubtful, openPieces } = point ?? {};
  const sent = Math.max(safeStep ?? -1, newest?.step ?? -1);
  const isNewer = unsafe.checkpoints > 0 && localStep !== null && localStep > sent;
  const isOnDisk = isNewer && disk.isStoredPiece !== true;
  return {
    run,
    newest,
    trashedStep,
    onDisk: isOnDisk ? { step: localStep, bytes: unsafe.bytes } : null,
    ...(doubtful !== undefined && { doubtful }),
    ...(openPieces !== undefined && { openPieces }),
  };
}

function recordWords({ run, newest, trashedStep }: RestorePoint): string {
  if (newest !== null && !newest.isDamaged) return `${run} can go on from ${stepWords(newest.step)} on another node.`;
  if (newest !== null)
    return `${run} has only damaged checkpoints, the newest at ${stepWords(newest.step)}: restore its undamaged files, or start from 0 on another node with --from none.`;
  if (trashedStep !== null)
    return `${run} has no safe checkpoint but those in the trash, the newest at ${stepWords(trashedStep)}: bring it back, or the run starts from 0 on another node.`;
  return `${run} has no safe checkpoint: on another node it starts from 0.`;
}

/** Says from which step a run continues on another node, and what exists only on the disk of `node`. */
function continueWords(from: ContinueFrom, node: string): string {
  const { onDisk } = from;
  const start = recordWords(from);
  if (onDisk === null) return start;
  return `${start} ${stepTitle(onDisk.step)} (${formatBytes(onDisk.bytes)} not safe) is only on the disk of ${node}: start its worker again, and it uploads what it captured.`;
}

/** Returns the advice for `runs`, given in naming order; `total` also counts the runs that were left out. */
export function adviceOf(runs: ContinueFrom[], { node, total }: { node: string; total: number }): ContinueAdvice {
  const sentences = runs.slice(0, MOST_NAMED).map((from) => continueWords(from, node));
  const more = total - sentences.length;
  if (more > 0) sentences.push(`And ${formatCount(more)} more ${more === 1 ? "run" : "runs"}.`);
  return { runs, text: sentences.join(" ") };
}

/** Advice for several nodes at once; some of them may have no work at risk. */
export const CONTINUE_MANY =
  "A run with a safe checkpoint can go on from it on another node; one without starts from 0 there. What was captured and not uploaded is on the disks of its node until its worker starts again.";
