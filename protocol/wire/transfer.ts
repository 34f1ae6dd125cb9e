import * as z from "zod";
import { TRANSFER_DIRECTIONS, TRANSFER_STATES } from "./transfer-kinds.ts";

/**
 * The life of one transfer (an upload of a capture, or a restore), written once. Database, wire, screen and tests read
 * this table; nothing else decides which move is legal.
 */

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
  failed: { waiting: ["person", "node"], cancelled: ["person"], superseded: ["policy"] },
  done: {},
  cancelled: {},
  superseded: {},
};

export function mayMove(from: TransferState, to: TransferState, by: MoveBy): boolean {
  return TRANSFER_MOVES[from][to]?.includes(by) ?? false;
}

/** What a person may want of a transfer. */
export type TransferWish = "cancel" | "pause" | "resume" | "retry";

/** Where a wish leads, from where it is one (a retry is for what failed, resuming for what was paused), and where it is fulfilled. */
export const TRANSFER_WISHES: Readonly<
  Record<TransferWish, { to: TransferState; from: readonly TransferState[]; fulfilled: readonly TransferState[] }>
> = {
  cancel: { to: "cancelled", from: ["waiting", "running", "paused", "failed"], fulfilled: ["cancelled"] },
  pause: { to: "paused", from: ["waiting", "running"], fulfilled: ["paused"] },
  resume: { to: "waiting", from: ["paused"], fulfilled: ["waiting", "running"] },
  retry: { to: "waiting", from: ["failed"], fulfilled: ["waiting", "running"] },
};

/** What a wish means for a transfer in this state. */
export function judgeWish(state: TransferState, wish: TransferWish): "to do" | "fulfilled" | "impossible" {
  const { to, from, fulfilled } = TRANSFER_WISHES[wish];
  if (fulfilled.includes(state)) return "fulfilled";
  return from.includes(state) && mayMove(state, to, "person") ? "to do" : "impossible";
}

/** A transfer in one of these states will not move by itself any more. */
export const isEnded = (state: TransferState): boolean =>
  state === "done" || state === "failed" || state === "cancelled" || state === "superseded";

export const transferDirection = z.enum(TRANSFER_DIRECTIONS);
export type TransferDirection = z.infer<typeof transferDirection>;
export type LinkDirection = Extract<TransferDirection, "upload" | "download">;
/** Which way of the link the pace of a transfer is that of; null for one that rests on purpose. */
export const linkDirectionOf = (direction: TransferDirection): LinkDirection | null => {
  if (direction === "copy") return "upload";
  return direction === "upload" || direction === "download" ? direction : null;
};

/** The state of a part in a piece map: `.` waiting, `>` moving, `#` acknowledged. One character per piece, at most 240. */
export const pieceMap = z.string().regex(/^[.>#]{0,240}$/);

/** The map with `!` in place of pieces that are tried again: as people see it. A position that is safe stays so. */
export const markTriedAgain = (pieces: string, triedAgain: readonly number[]): string => {
  if (triedAgain.length === 0) return pieces;
  const marked = new Set(triedAgain);
  return Array.from(pieces, (state, index) => (state !== "#" && marked.has(index) ? "!" : state)).join("");
};
