import { isSea } from "node:sea";

/**
 * Returns the command that starts this program again: program and first arguments. The single executable needs neither a
 * script path nor V8 flags, because it contains both.
 */
export const ownCommand = (): string[] =>
  isSea() ? [process.execPath] : [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)];
