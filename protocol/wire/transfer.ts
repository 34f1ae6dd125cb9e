import * as z from "zod";
import { TRANSFER_DIRECTIONS, TRANSFER_STATES } from "./transfer-kinds.ts";

/** State machine of a transfer. Database, wire, pages and tests all use this table to decide which transition is legal. */

export const transferState = z.enum(TRANSFER_STATES);
export type TransferState = z.infer<typeof transferState>;

/** Causes of a transition: the node's own work, a person's command, or the policy that drops superseded queue items. */
export type MoveBy = "node" | "person" | "policy";

export const TRANSFER_MOVES: Readonly<
  Record<TransferState, Readonly<Partial<Record<TransferState, readonly MoveBy[]>>>>
> = {
  waiting: { running: ["node"], paused: ["person"], cancelled: ["person"], failed: ["node"], superseded: ["policy"] },
  running: { done: ["node"], failed: ["node"], waiting: ["node"], paused: ["person"], cancelled: ["person"] },
  paused: { waiting: ["person"], cancelled: ["person"], superseded: ["policy"] },
  failed: { waiting: ["person", "node"], cancelled: ["person"], superseded: ["policy"] },
  done: {},
  cancelled: {},
  superseded: {},
};

export function mayMove(from: TransferState, to: TransferState, by: MoveBy): boolean {
  return TRANSFER_MOVES[from][to]?.includes(by) ?? false;
}

/** Actions that a person can request for a transfer. */
export type TransferAction = "cancel" | "pause" | "resume" | "retry";

/**
 * For each action: its target state, the states in which it applies, and the states in which it is already fulfilled. A retry
 * applies only after a failure, a resume only after a pause.
 */
export const TRANSFER_ACTIONS: Readonly<
  Record<TransferAction, { to: TransferState; from: readonly TransferState[]; fulfilled: readonly TransferState[] }>
> = {
  cancel: { to: "cancelled", from: ["waiting", "running", "paused", "failed"], fulfilled: ["cancelled"] },
  pause: { to: "paused", from: ["waiting", "running"], fulfilled: ["paused"] },
  resume: { to: "waiting", from: ["paused"], fulfilled: ["waiting", "running"] },
  retry: { to: "waiting", from: ["failed"], fulfilled: ["waiting", "running"] },
};

/** Returns whether an action still has to be carried out, is already fulfilled, or is impossible in this state. */
export function judgeAction(state: TransferState, action: TransferAction): "to do" | "fulfilled" | "impossible" {
  const { to, from, fulfilled } = TRANSFER_ACTIONS[action];
  if (fulfilled.includes(state)) return "fulfilled";
  return from.includes(state) && mayMove(state, to, "person") ? "to do" : "impossible";
}

/** Returns whether a transfer in this state no longer changes by itself. */
export const isEnded = (state: TransferState): boolean =>
  state === "done" || state === "failed" || state === "cancelled" || state === "superseded";

export const transferDirection = z.enum(TRANSFER_DIRECTIONS);
export type TransferDirection = z.infer<typeof transferDirection>;
export type LinkDirection = Extract<TransferDirection, "upload" | "download">;
/** Returns the direction of the link that a transfer measures; null for transfers that yield to others. */
export const linkDirectionOf = (direction: TransferDirection): LinkDirection | null => {
  if (direction === "copy") return "upload";
  return direction === "upload" || direction === "download" ? direction : null;
};

/** Piece map of a transfer: `.` waiting, `>` moving, `#` acknowledged. One character per piece, at most 240. */
export const pieceMap = z.string().regex(/^[.>#]{0,240}$/);

/** Returns the map for display, with `!` for pieces that are being retried. Acknowledged pieces keep their `#`. */
export const markTriedAgain = (pieces: string, triedAgain: readonly number[]): string => {
  if (triedAgain.length === 0) return pieces;
  const marked = new Set(triedAgain);
  return Array.from(pieces, (state, index) => (state !== "#" && marked.has(index) ? "!" : state)).join("");
};
