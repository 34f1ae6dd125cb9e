import type { CommandName } from "#worker/command-line/commands.ts";

/** Completion of a value or an operand: none (`free`), a folder, a file, or one of a list of words. */
export type Values = "free" | "folders" | "files" | readonly string[];

/** A command in the form that the completion scripts need, made from the tables of commands and flags. */
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
  /** Null for a flag without a value; `shown` is the placeholder of the value in help. */
  value: { shown: string; values: Values } | null;
  repeats: boolean;
}
