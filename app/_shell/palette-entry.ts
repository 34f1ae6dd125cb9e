import type { OrderKind } from "../_orders/order-form.ts";
import type { RestoreRequest } from "../_restore/restore-choice.ts";

export interface Entry {
  id: string;
  kind: "page" | "action" | "run" | "step" | "tag" | "node" | "bucket" | "keys" | "setting";
  text: string;
  /** Other words that it is found by. */
  also?: string | undefined;
  place?: "last";
  note?: string | undefined;
  choose: () => void;
}

/** What entries are made with: who asks, what was typed, and what a press can do. */
export interface PaletteScope {
  /** Without blanks around it; empty while nothing was typed. */
  words: string;
  isAdmin: boolean;
  /** The person may act on nodes and checkpoints. */
  mayAct: boolean;
  go: (path: string) => () => void;
  restore: (request: RestoreRequest) => void;
  order: (request: { nodeId: string; kind: OrderKind }) => void;
}

/** Returns an entry that does something. */
export const act = (id: string, text: string, choose: () => void): Entry => ({ id, kind: "action", text, choose });
