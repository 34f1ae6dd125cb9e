import * as z from "zod";
import { byteCount } from "../base/bounded.ts";
import { filePath, id } from "../base/names.ts";

/**
 * Pieces of one checkpoint that several nodes with separate disks write (FSDP, PyTorch DCP, DeepSpeed). Each node keeps its
 * files safe as a piece, and the hub joins the pieces of one step into the checkpoint.
 */

/** Largest number of nodes that write one run together. */
export const MOST_GROUP_NODES = 1_024;

/** Rank of a node among the nodes of a run, counted from 0. */
export const groupMember = z
  .object({ rank: z.number().int().min(0).max(MOST_GROUP_NODES), of: z.number().int().min(2).max(MOST_GROUP_NODES) })
  .refine(({ rank, of }) => rank < of, "a node's number is less than the number of nodes");
export type GroupMember = z.infer<typeof groupMember>;

/** `start`: a new id at each start of the program; a repeated id is the same start. Absent: the node continues. */
export const groupClaim = groupMember.and(z.object({ start: id.optional() }));
export type GroupClaim = z.infer<typeof groupClaim>;

/** A file that the metadata of a checkpoint names, and its smallest possible size. */
const neededFile = z.object({ path: filePath, sizeBytes: byteCount });
export type NeededFile = z.infer<typeof neededFile>;

/** Largest number of files that a piece may need. */
export const MOST_NEEDED = 10_000;

export const pieceOf = groupMember.and(
  z.object({
    /** Files that the metadata in this piece names; absent when the piece has no metadata. */
    needs: z.array(neededFile).max(MOST_NEEDED).optional(),
  }),
);

/** Returns the doubt of a single piece, which its manifest shows to readers that do not know pieces. */
export const doubtOfPiece = ({ rank, of }: GroupMember): string =>
  `it is the piece of node ${rank} of ${of}; the others are checkpoints of their own until all are joined`;
