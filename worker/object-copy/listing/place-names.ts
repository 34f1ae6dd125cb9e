import { realpath } from "node:fs/promises";
import { dirname, relative as relativeTo, resolve, sep } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { whyPathRefused } from "#protocol/base/names.ts";
import { prefixForFolder } from "#worker/command-line/address.ts";
import { foldsNames } from "#worker/base/disk/folds-names.ts";
import { codeOf } from "#worker/base/disk-fault.ts";
import { createFolderFinder } from "./find-folders.ts";
import { mapRows, numbered, pickRows, placesOf, type Rows } from "#worker/base/rows.ts";
import { placeBelow, type Failure } from "./entries.ts";
import type { Entry, FileEntry, ObjectEntry } from "./entry.ts";
import { findTwins, foldersAbove } from "./find-twins.ts";
import type { StorePlace } from "#worker/command-line/command-context.ts";

/**
 * Maps entries to keys or paths on the other side. An entry whose name is not possible there becomes a failure; the other
 * entries are not affected.
 */

/** S3's limit for a key. */
const MOST_KEY_BYTES = 1024;
/** Linux's limit for a path (4096), less room for the folder and the temporary name. */
const MOST_PATH_BYTES = 3_500;

const nameOf = (entry: Entry): string => (entry.at === "local" ? entry.path : entry.key);

const hostile = (subject: string, detail: string): Fault => new Fault("HOSTILE_NAME", { op: "cp", subject, detail });

/** Returns the entries for which `whyNot` returns null; the others are added to the failures. */
function stepOver<E extends Entry>(
  entries: Rows<E>,
  failures: Failure[],
  whyNot: (entry: E, index: number) => Fault | null,
): Rows<E> {
  const refused = new Set<number>();
  for (const [index, entry] of numbered(entries)) {
    const fault = whyNot(entry, index);
    if (fault === null) continue;
    refused.add(index);
    failures.push({ name: nameOf(entry), fault });
  }
  if (refused.size === 0) return entries;
  let index = 0;
  return pickRows(
    entries,
    placesOf(entries, () => !refused.has(index++)),
  );
}

/** Maps entries to keys below a prefix. An object may keep any name that a URL can carry. */
export function placeAsKeys<E extends FileEntry | ObjectEntry>(
  to: StorePlace,
  entries: Rows<E>,
  failures: Failure[],
): { entries: Rows<E>; keyOf: (entry: E) => string } {
  const prefix = prefixForFolder(to);
  const keyOf = ({ relative }: E) => prefix + relative;
  const whyNot = (entry: E): Fault | null => {
    const { relative } = entry;
    const why = entry.at === "local" ? whyPathRefused(relative, MOST_PATH_BYTES) : whyNoUrl(relative);
    if (why !== null) return hostile(relative, why);
    const bytes = Buffer.byteLength(keyOf(entry));
    return bytes > MOST_KEY_BYTES ? hostile(relative, `its key would have ${bytes} bytes, and may have 1024`) : null;
  };
  return { entries: stepOver(entries, failures, whyNot), keyOf };
}

const whyNoUrl = (relative: string): string | null =>
  /(?:^|\/)\.\.?(?:\/|$)/.test(relative) ? "a URL cannot carry '.' or '..' as a segment" : null;

/**
 * Maps objects to paths below a folder. Names that leave the folder, are impossible on a disk, or collide with another file
 * become failures. `among` holds all objects, of which `entries` may be a part; both must be sorted by name.
 */
export async function placeAsPaths(
  folder: string,
  { entries, among = entries }: { entries: Rows<ObjectEntry>; among?: Iterable<{ relative: string }> },
  failures: Failure[],
): Promise<{ entries: Rows<ObjectEntry>; pathOf: (entry: ObjectEntry) => string }> {
  const root = resolve(folder);
  const folders = createFolderFinder();
  for (const { relative } of among) folders.add(relative);
  const possible = stepOver(entries, failures, ({ relative }) => {
    const why = whyPathRefused(relative, MOST_PATH_BYTES);
    if (why !== null) return hostile(relative, why);
    return folders.found.has(relative) ? hostile(relative, "other objects lie in a folder of this name") : null;
  });
  const [ways, twins] = [await waysOut(root, possible), await twinsOn(root, possible)];
  const left =
    ways.size === 0 && twins.size === 0
      ? possible
      : stepOver(possible, failures, ({ relative }, index) => {
          const other = twins.get(index);
          if (other !== undefined) return hostile(relative, `on this disk it is the same file as ${other}`);
          const way = [...foldersAbove(relative)].find((above) => ways.has(above));
          return way === undefined ? null : (ways.get(way) ?? null);
        });
  return { entries: left, pathOf: ({ relative }) => placeBelow(root, relative) };
}

/** Returns the indexes of names that would be the same file as another, on a disk that ignores case or accents. */
async function twinsOn(root: string, entries: Rows<ObjectEntry>): Promise<Map<number, string>> {
  const twins = findTwins(mapRows(entries, ({ relative }) => relative));
  return twins.size > 0 && (await foldsNames(root)) ? twins : new Map();
}

/** Returns folders that lead out of the root through a symbolic link, or cannot be resolved, each with its Fault. */
async function waysOut(root: string, entries: Rows<ObjectEntry>): Promise<Map<string, Fault>> {
  const ways = new Map<string, Fault>();
  const home = await realpath(root).catch(() => null);
  if (home === null) return ways;
  for (const folder of foldersOf(entries)) {
    try {
      const place = await realpath(`${root}${sep}${folder}`);
      const way = relativeTo(home, place);
      if (way === ".." || way.startsWith(`..${sep}`))
        ways.set(folder, hostile(folder, `a link there leads to ${place}`));
    } catch (error) {
      // A missing folder will be created; a file in its place is reported when an object is written there.
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") continue;
      ways.set(folder, new Fault("FOLDER_UNWRITABLE", { op: "cp", subject: folder, cause: error }));
    }
  }
  return ways;
}

/** Number of folders to remember; checking one again is harmless. */
const MOST_FOLDERS = 4_096;

/** Yields the folders of entries and all folders above. With very many folders some are repeated. */
function* foldersOf(entries: Iterable<ObjectEntry>): Generator<string> {
  const told = new Set<string>();
  for (const { relative } of entries) {
    const folder = dirname(relative);
    if (folder === "." || told.has(folder)) continue;
    if (told.size > MOST_FOLDERS) told.clear();
    for (const one of foldersAbove(relative)) {
      if (!told.has(one)) yield one;
      told.add(one);
    }
  }
}
