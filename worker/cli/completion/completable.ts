import type { CommandName } from "#worker/command-line/commands.ts";

/** What may follow a flag or a command: nothing anybody could guess, a folder, files, or one of these words. */
export type Values = "free" | "folders" | "files" | readonly string[];

/** A command as a shell completes it, made from the tables of commands and flags. */
export interface Completable {
  name: CommandName;
  says: string;
  operands: Values;
  flags: CompletableFlag[];
}

export interface CompletableFlag {
  /** Without the dashes. */
  name: string;
  short: string | null;
  says: string;
  /** Null for a switch; otherwise what stands for the value in help. */
  value: { shown: string; values: Values } | null;
  repeats: boolean;
}
