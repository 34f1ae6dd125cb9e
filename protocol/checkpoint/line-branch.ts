import * as z from "zod";
import { anyEpoch, id, step, writerEpoch } from "../base/names.ts";

/**
 * A new line of training in a run: its program counts from a lower step than the run had reached. The line has an epoch of its
 * own without a parent, because nothing shows that its state comes from an earlier checkpoint. The branch records what is known.
 */

/** `isByTime`: the step is the time of writing in seconds since 1970. */
const branchPoint = z.object({ epoch: anyEpoch, step, isByTime: z.literal(true).optional() });

/** Where a new line of training branches off. */
export const lineBranch = z.object({
  /** Checkpoint that the program was given when it started; null: none, or it trained on from there before it went back. */
  from: branchPoint.nullable(),
  /** Highest step that the run had reached in the epoch before the line. */
  after: branchPoint.extend({ epoch: writerEpoch }),
  /** First step that the program wrote in the line. */
  step,
});
export type LineBranch = z.infer<typeof lineBranch>;

/** Returns whether both describe the same line: a repeated request, whose answer was lost, asks for the open line. */
export const isSameBranch = (a: LineBranch | null | undefined, b: LineBranch | null | undefined): boolean =>
  a != null && b != null && JSON.stringify(lineBranch.parse(a)) === JSON.stringify(lineBranch.parse(b));

/**
 * A line that the hub could not be asked to open yet. `id` tells it from another of equal steps. `after.epoch` is the epoch before it:
 * 0 where that is not known, or is itself a line that waits.
 */
export const unopenedLine = lineBranch.extend({ id, after: branchPoint });
export type UnopenedLine = z.infer<typeof unopenedLine>;
