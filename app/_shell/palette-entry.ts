import type { CommandKind } from "../_commands/command-form.ts";
import type { RestoreRequest } from "../_restore/restore-choice.ts";

export interface Entry {
  id: string;
  kind: "page" | "action" | "run" | "step" | "tag" | "node" | "bucket" | "keys" | "setting";
  text: string;
  /** Further words that match the entry. */
  also?: string | undefined;
  place?: "last";
  note?: string | undefined;
  choose: () => void;
}

/** Inputs for making entries. */
export interface PaletteScope {
  /** Typed text, trimmed; empty when nothing was typed. */
  words: string;
  isAdmin: boolean;
  /** True when the person may act on nodes and checkpoints. */
  mayAct: boolean;
  go: (path: string) => () => void;
  restore: (request: RestoreRequest) => void;
  order: (request: { nodeId: string; kind: CommandKind }) => void;
}

/** Returns an entry for an action. */
export const act = (id: string, text: string, choose: () => void): Entry => ({ id, kind: "action", text, choose });
