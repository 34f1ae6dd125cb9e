import { formatBytes, formatCount } from "../base/units.ts";

/** The checkpoints from which a run can go on when its node is away. */
export interface ContinueFrom {
  run: string;
  /** Newest complete step in the bucket; null: none. */
  safeStep: number | null;
  /** Newest step captured on the disk of the node; null: none. */
  localStep: number | null;
  unsafe: { checkpoints: number; bytes: number };
}

const newestOnDisk = ({ safeStep, localStep, unsafe }: ContinueFrom): number | null =>
  unsafe.checkpoints > 0 && localStep !== null && localStep > (safeStep ?? -1) ? localStep : null;

/**
 * Says from where a run goes on on another node, and what only the disk of `node` has. Pages, alerts and messages say it in
 * these words, so none of them advises a checkpoint that is not there.
 */
export function continueWords(from: ContinueFrom, node: string): string {
  const { run, safeStep, unsafe } = from;
  const onDisk = newestOnDisk(from);
  const start =
    safeStep === null
      ? `${run} has no safe checkpoint: on another node it starts from 0.`
      : `${run} can go on from step ${formatCount(safeStep)} on another node.`;
  if (onDisk === null) return start;
  const size = formatBytes(unsafe.bytes);
  return `${start} Step ${formatCount(onDisk)} (${size} not safe) is only on the disk of ${node}: start its worker again, and it uploads what it captured.`;
}

/** The advice for several nodes at once, of which some may have nothing. */
export const CONTINUE_MANY =
  "A run with a safe checkpoint can go on from it on another node; one without starts from 0 there. What was captured and not uploaded is on the disks of its node until its worker starts again.";
