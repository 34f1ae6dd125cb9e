import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { contentEvidenceOf } from "#protocol/recognition/checkpoint-evidence.ts";
import { mayLieBeside } from "#protocol/checkpoint/place.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { finalModelNames } from "./final-model.ts";
import type { Candidate } from "./find.ts";
import { folderOf } from "./look.ts";

/** Files in a watched folder that belong to no checkpoint, so that nothing keeps them safe. Text, pictures and logs do not count. */
export interface Untaken {
  files: number;
  bytes: number;
  /** The largest ones, at most three, by their paths below the watched folder. */
  largest: readonly { path: string; sizeBytes: number }[];
  /** When the newest of them was written, epoch ms. */
  newestMs: number;
}

const MOST_LEVELS = 8;
const MOST_FOLDERS = 2_000;
const MOST_LOOKED_AT = 20_000;
const MOST_SHOWN = 3;
/** Smaller files are settings, caches and markers. */
const LEAST_BYTES = 1_024;

/**
 * Returns the files in a watched folder that belong to no candidate. `since`: only those written from then on, epoch ms. No
 * faults: what cannot be read is left out.
 */
export async function findUntaken(
  folder: string,
  candidates: readonly Omit<Candidate, "step">[],
  since = 0,
): Promise<Untaken> {
  const isWhole = ({ kind, role }: Omit<Candidate, "step">) => kind === "folder" && role === undefined;
  const folders = new Set(candidates.filter(isWhole).map(({ path }) => path));
  const files = new Set(
    candidates
      .filter((one) => !isWhole(one))
      .flatMap((one) => (one.names ?? [basename(one.path)]).map((name) => join(folderOf(one), name))),
  );
  const found: { path: string; sizeBytes: number; mtimeMs: number }[] = [];
  const left = { folders: MOST_FOLDERS, files: MOST_LOOKED_AT };
  const enter = async (at: string, level: number): Promise<void> => {
    if (folders.has(at) || level > MOST_LEVELS || --left.folders < 0) return;
    const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
    const final = new Set(finalModelNames(entries.filter((entry) => entry.isFile()).map(({ name }) => name)));
    for (const entry of entries) {
      const path = join(at, entry.name);
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) await enter(path, level + 1);
      if (!entry.isFile() || files.has(path) || mayLieBeside(entry.name)) continue;
      if (at === folder && final.has(entry.name)) continue;
      if (contentEvidenceOf([{ relative: entry.name, sizeBytes: 1 }]) === "text" || --left.files < 0) continue;
      const stats = await stat(path).catch(() => null);
      if (stats === null || stats.size < LEAST_BYTES || stats.mtimeMs < since) continue;
      found.push({ path, sizeBytes: stats.size, mtimeMs: stats.mtimeMs });
    }
  };
  await enter(folder, 0);
  const largest = found
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
    .slice(0, MOST_SHOWN)
    .map(({ path, sizeBytes }) => ({ path: relative(folder, path).replaceAll(sep, "/"), sizeBytes }));
  return {
    files: found.length,
    bytes: found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    largest,
    newestMs: found.reduce((newest, { mtimeMs }) => Math.max(newest, mtimeMs), 0),
  };
}

/** Returns the files in words: `notes.bin (2 GB) and 3 more (2.1 GB together)`. */
export function untakenWords({ files, bytes, largest }: Untaken): string {
  const [first] = largest;
  if (first === undefined) return "no file";
  const name = `${first.path} (${formatBytes(first.sizeBytes)})`;
  return files === 1 ? name : `${name} and ${formatCount(files - 1)} more (${formatBytes(bytes)} together)`;
}
