import { formatBytes, formatCount } from "../base/units.ts";

/**
 * Advice on continuing the runs of a node that is away. The hub's record says which checkpoint a run can be restored from, because
 * the node does not learn of a checkpoint that was moved to the trash or found damaged. Only the node knows its disk.
 */

/** What the hub's record has of one run. */
export interface RestorePoint {
  run: string;
  /** Newest step that a run continues from; null: none. `isDamaged`: no undamaged one exists. */
  newest: { step: number; isDamaged: boolean } | null;
  /** Newest step in the trash, of a run with nothing else; null: none. */
  trashedStep: number | null;
}

/** What a node knows of a run that it writes. */
export interface DiskPoint {
  run: string;
  /** Newest step that the node saw become safe; null: none. */
  safeStep: number | null;
  /** Newest step captured on its disk, and when; null: none. */
  localStep: number | null;
  localAt: number | null;
  unsafe: { checkpoints: number; bytes: number };
}

export interface ContinueFrom extends RestorePoint {
  /** Newest step that only the disk of the node has, and what is not safe there; null: nothing. */
  onDisk: { step: number; bytes: number } | null;
}

export interface ContinueAdvice {
  /** The runs that the text names come first. */
  runs: ContinueFrom[];
  /** One sentence or more for each of at most three runs. Names are a stranger's words. Empty where the node writes none. */
  text: string;
}

/** Runs of one node that an advice names. */
export const MOST_NAMED = 3;

/** Puts the runs in the order in which advice names them: first those with work on the disk alone, then the latest capture. */
export const inNamingOrder = (runs: readonly DiskPoint[]): DiskPoint[] =>
  runs.toSorted(
    (a, b) =>
      Number(b.unsafe.checkpoints > 0) - Number(a.unsafe.checkpoints > 0) ||
      (b.localAt ?? -1) - (a.localAt ?? -1) ||
      (a.run < b.run ? -1 : 1),
  );

/** Joins what the record and the disk have of one run. `point` undefined: the record does not know the run. */
export function continueFrom(disk: DiskPoint, point: RestorePoint | undefined): ContinueFrom {
  const { run, safeStep, localStep, unsafe } = disk;
  const { newest = null, trashedStep = null } = point ?? {};
  const sent = Math.max(safeStep ?? -1, newest?.step ?? -1);
  const isOnDisk = unsafe.checkpoints > 0 && localStep !== null && localStep > sent;
  return { run, newest, trashedStep, onDisk: isOnDisk ? { step: localStep, bytes: unsafe.bytes } : null };
}

function recordWords({ run, newest, trashedStep }: RestorePoint): string {
  if (newest !== null && !newest.isDamaged)
    return `${run} can go on from step ${formatCount(newest.step)} on another node.`;
  if (newest !== null)
    return `${run} has only damaged checkpoints, the newest at step ${formatCount(newest.step)}: restore its undamaged files, or start from 0 on another node with --from none.`;
  if (trashedStep !== null)
    return `${run} has no safe checkpoint but those in the trash, the newest at step ${formatCount(trashedStep)}: bring it back, or the run starts from 0 on another node.`;
  return `${run} has no safe checkpoint: on another node it starts from 0.`;
}

/** Says from where a run goes on on another node, and what only the disk of `node` has. */
function continueWords(from: ContinueFrom, node: string): string {
  const { onDisk } = from;
  const start = recordWords(from);
  if (onDisk === null) return start;
  return `${start} Step ${formatCount(onDisk.step)} (${formatBytes(onDisk.bytes)} not safe) is only on the disk of ${node}: start its worker again, and it uploads what it captured.`;
}

/** Advises on the runs of `node`, which are in naming order; `total` counts those that were left out too. */
export function adviceOf(runs: ContinueFrom[], { node, total }: { node: string; total: number }): ContinueAdvice {
  const sentences = runs.slice(0, MOST_NAMED).map((from) => continueWords(from, node));
  const more = total - sentences.length;
  if (more > 0) sentences.push(`And ${formatCount(more)} more ${more === 1 ? "run" : "runs"}.`);
  return { runs, text: sentences.join(" ") };
}

/** The advice for several nodes at once, of which some may have nothing. */
export const CONTINUE_MANY =
  "A run with a safe checkpoint can go on from it on another node; one without starts from 0 there. What was captured and not uploaded is on the disks of its node until its worker starts again.";
