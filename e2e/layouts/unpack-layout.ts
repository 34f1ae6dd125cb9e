import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** Folders as real frameworks left them in the middle of a training: `npm run prove -- layouts` recorded them. */
export const LAYOUTS = import.meta.dirname;

/** Unpacks a recorded layout: names, contents, links and times. */
export function unpackLayout(name: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["-xzf", join(LAYOUTS, `${name}.tar.gz`), "-C", folder]);
}
