import { isSea } from "node:sea";

/**
 * How this program is started once more: program and first arguments. The single executable is its own program, with no script
 * between it and its arguments, and brings its flags for V8 itself.
 */
export const ownCommand = (): string[] =>
  isSea() ? [process.execPath] : [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)];
