import * as z from "zod";

/**
 * The life of one transfer (an upload of a capture, or a restore), written once. Database, wire, screen and tests read
 * this table; nothing else decides which move is legal.
 */

export const TRANSFER_STATES = ["waiting", "running", "paused", "done", "failed", "cancelled", "superseded"] as const;
export const transferState = z.enum(TRANSFER_STATES);
export type TransferState = z.infer<typeof transferState>;

/** Who may cause a move: the node's own work, a person (through a command), or the policy that coalesces waiting items. */
export type MoveBy = "node" | "person" | "policy";

export const TRANSFER_MOVES: Readonly<
  Record<TransferState, Readonly<Partial<Record<TransferState, readonly MoveBy[]>>>>
> = {
  waiting: { running: ["node"], paused: ["person"], cancelled: ["person"], failed: ["node"], superseded: ["policy"] },
  running: { done: ["node"], failed: ["node"], waiting: ["node"], paused: ["person"], cancelled: ["person"] },
  paused: { waiting: ["person"], cancelled: ["person"], superseded: ["policy"] },
  failed: { waiting: ["person", "node"] },
  done: {},
  cancelled: {},
  superseded: {},
};

export function mayMove(from: TransferState, to: TransferState, by: MoveBy): boolean {
  return TRANSFER_MOVES[from][to]?.includes(by) ?? false;
}

/** A transfer in one of these states will not move by itself any more. */
export const isEnded = (state: TransferState): boolean =>
  state === "done" || state === "failed" || state === "cancelled" || state === "superseded";

/**
 * `upload` and `download` move a checkpoint. `verify` reads one back and keeps nothing, `drill` restores one into a scratch
 * folder and removes it: they leave other work its turn, so their pace says nothing about a link.
 */
export const transferDirection = z.enum(["upload", "download", "verify", "drill"]);
export type TransferDirection = z.infer<typeof transferDirection>;
/** Of a transfer whose pace is that of the link. */
export type LinkDirection = Extract<TransferDirection, "upload" | "download">;
export const isLinkDirection = (direction: TransferDirection): direction is LinkDirection =>
  direction === "upload" || direction === "download";

/** The state of a part in a piece map: `.` waiting, `>` moving, `#` acknowledged. One character per piece, at most 240. */
export const pieceMap = z.string().regex(/^[.>#]{0,240}$/);
