import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Programs that write files for tests of places, and the files that came back. */

/** Returns what a worker printed. */
export const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");
/** Returns the command line of a script. */
export const program = (script: string): string[] => [process.execPath, "-e", script];
/** Prints the path from which training goes on. */
export const PRINT_RESUME = program("console.log(`resumes at [${process.env.TIDEMARK_RESUME_PATH}]`)");

/** Returns a program that writes files below the folder in this order and ends. A text `-> NAME` makes a link. */
export const writer = (folder: string, files: Readonly<Record<string, string>>) =>
  program(`const fs = require("node:fs"), path = require("node:path");
    for (const [name, text] of Object.entries(${JSON.stringify(files)})) {
      const at = path.join(${JSON.stringify(folder)}, name);
      fs.mkdirSync(path.dirname(at), { recursive: true });
      if (text.startsWith("-> ")) fs.symlinkSync(text.slice(3), at); else fs.writeFileSync(at, text);
    }`);

/** Reads all files below a folder, with their texts; a link has where it leads as `-> NAME`. */
export function readTexts(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const at = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) continue;
    found[at.slice(folder.length + 1)] = entry.isSymbolicLink() ? `-> ${readlinkSync(at)}` : readFileSync(at, "utf8");
  }
  return found;
}
