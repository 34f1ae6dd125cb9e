import type { Said } from "#protocol/base/visible-text.ts";
import { createReach, readReach } from "#server/platform/reach.ts";
import type { PostgresSettings } from "#server/platform/settings/read-postgres.ts";
import type { HubInvocation } from "./read-command.ts";
import type { Tools, ToolsOptions } from "./tools.ts";

/** Types and steps that the commands of a hub share. */

/** Environment of a command besides its command line. */
export interface Surroundings {
  variables: Readonly<Record<string, string | undefined>>;
  /** Text of the master key, if it is given; null: the key file. */
  secret: string | null;
  /** Text of the master key that is being replaced, if it is given. */
  previous: string | null;
  now: () => number;
  passwordCost: number;
  /** Reads the first line of stdin. */
  readLine: () => Promise<string>;
  /** Receives a line about the progress of a long command. */
  tell: (line: string) => void;
}

/** Result of a command: an object for programs, sentences for people. */
export interface CommandResult {
  result: object;
  text: Said;
  exitCode: number;
}

export interface Scope {
  invocation: HubInvocation;
  around: Surroundings;
  dataFolder: string;
  postgres: PostgresSettings | null;
}

/** Returns the result of a command that succeeded. */
export const done = (result: object, text: Said): CommandResult => ({ result, text, exitCode: 0 });
export const toolsOptions = ({ around, dataFolder, postgres }: Scope): ToolsOptions => ({
  dataFolder,
  postgres,
  secret: around.secret,
  previous: around.previous,
  // An operator at the console has access to the network anyway; metadata addresses stay refused.
  reach: createReach(readReach(around.variables, { isLoopback: true })),
  now: around.now,
});

/** Runs `work` with tools, and closes them. */
export async function withTools<T>(tools: Tools, work: (tools: Tools) => Promise<T>): Promise<T> {
  try {
    return await work(tools);
  } finally {
    await tools.close();
  }
}
