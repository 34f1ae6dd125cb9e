import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./start-process.ts";

/** The hub template that `prepare-hub` makes: a data folder for test hubs, with the cookie of an open session. */

const FOLDER = join(ROOT, ".tools/hub");
export const TEMPLATE = join(FOLDER, "template");
export const COOKIE = join(FOLDER, "cookie");
export const STAMP = join(FOLDER, "made-from");

/** Copies the template to `dataDir` and returns the cookie of its session; null when none was prepared. */
export function copyTemplate(dataDir: string): string | null {
  if (process.env["GATE_HUB"] === undefined || !existsSync(STAMP)) return null;
  mkdirSync(dirname(dataDir), { recursive: true });
  cpSync(TEMPLATE, dataDir, { recursive: true });
  return readFileSync(COOKIE, "utf8");
}
