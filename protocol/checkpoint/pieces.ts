import * as z from "zod";
import { byteCount } from "../base/bounded.ts";
import { filePath, id } from "../base/names.ts";

/**
 * Pieces of one checkpoint by several nodes whose disks are their own (FSDP, PyTorch DCP, DeepSpeed): each node keeps its
 * files safe as a piece, and the hub joins the pieces of one step into the checkpoint.
 */

/** Most nodes that write one run together. */
export const MOST_GROUP_NODES = 1_024;

/** Which of the nodes of a run a node is, counted from 0. */
export const groupMember = z
  .object({ rank: z.number().int().min(0).max(MOST_GROUP_NODES), of: z.number().int().min(2).max(MOST_GROUP_NODES) })
  .refine(({ rank, of }) => rank < of, "a node's number is less than the number of nodes");
export type GroupMember = z.infer<typeof groupMember>;

/** `start`: new at each start of the program; the same one again is the same start. Left out: the node goes on. */
export const groupClaim = groupMember.and(z.object({ start: id.optional() }));
export type GroupClaim = z.infer<typeof groupClaim>;

/** A file that the metadata of a checkpoint names, and how many bytes of it at least. */
const neededFile = z.object({ path: filePath, sizeBytes: byteCount });
export type NeededFile = z.infer<typeof neededFile>;

/** Most files that a piece says it needs. */
export const MOST_NEEDED = 10_000;

export const pieceOf = groupMember.and(
  z.object({
    /** What the metadata among its files names; absent where it has none. */
    needs: z.array(neededFile).max(MOST_NEEDED).optional(),
  }),
);

/** Why a piece by itself is no whole checkpoint: what its manifest says to readers that do not know pieces. */
export const doubtOfPiece = ({ rank, of }: GroupMember): string =>
  `it is the piece of node ${rank} of ${of}; the others are checkpoints of their own until all are joined`;
