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
import type { StorePlace } from "#worker/command-line/verb.ts";

/**
 * Where entries go by their names. One name harms only itself: what cannot have its name at the other side becomes a failure, and the
 * others go on.
 */

/** What a key may have, by the protocol. */
const MOST_KEY_BYTES = 1024;
/** What a path may have on Linux, with room for the folder and for the temporary name. */
const MOST_PATH_BYTES = 3_500;

const nameOf = (entry: Entry): string => (entry.at === "local" ? entry.path : entry.key);

const hostile = (subject: string, detail: string): Fault => new Fault("HOSTILE_NAME", { op: "cp", subject, detail });

/** Returns those for which `whyNot` has nothing to say; the others are added to the failures. */
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

/** Names of entries as keys below a prefix. What comes from a bucket may have any name that a URL can carry. */
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
 * Names of objects as paths below a folder. A name that leads elsewhere, that no disk can have, or that would land on another's file is
 * stepped over. Entries are in the order of their names, and so are those that they lie `among`, of which they may be a part.
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

/** Names that would land on the file of another, by their place: only where the disk takes both for one. */
async function twinsOn(root: string, entries: Rows<ObjectEntry>): Promise<Map<number, string>> {
  const twins = findTwins(mapRows(entries, ({ relative }) => relative));
  return twins.size > 0 && (await foldsNames(root)) ? twins : new Map();
}

/** Folders that a link inside of the root would carry files out of, and what there is to say of them. */
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
      // It is made, or what is in the way says so when a file is to lie there.
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") continue;
      ways.set(folder, new Fault("FOLDER_UNWRITABLE", { op: "cp", subject: folder, cause: error }));
    }
  }
  return ways;
}

/** Remembered at a time; one that is looked at again is as it was. */
const MOST_FOLDERS = 4_096;

/** The folders of entries with those that they lie in. Of very many, some come more than once. */
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
