import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { Unreadable } from "../answers/archived-fault.ts";

/** Returns the longest text with which both begin. */
function sharedStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

/**
 * Returns prefixes whose listings contain all the keys, none inside another. Each is as long as its keys permit, because a
 * single object may lie beside a million others.
 */
export function prefixesOf(keys: Iterable<string>): string[] {
  const found: { folder: string; prefix: string }[] = [];
  const folderOf = (key: string) => key.slice(0, key.lastIndexOf("/") + 1);
  // With keys sorted by folder, a folder comes right before everything inside it.
  const rows = [...keys].map((key) => ({ key, folder: folderOf(key) }));
  for (const { key, folder } of rows.sort((a, b) => (a.folder < b.folder ? -1 : a.folder > b.folder ? 1 : 0))) {
    const last = found.at(-1);
    if (last !== undefined && folder.startsWith(last.folder)) last.prefix = sharedStart(last.prefix, key);
    else found.push({ folder, prefix: key });
  }
  return found.map(({ prefix }) => prefix);
}

/** Returns the wanted files of a manifest that have bytes in an object that cannot be read now. `files`: null for all files. */
export function archivedFiles(
  manifest: Pick<StoredManifest, "files">,
  about: { archived: readonly Unreadable[]; files: readonly string[] | null },
): Unreadable[] {
  const states = new Map(about.archived.map(({ name, state }) => [name, state]));
  const wanted = about.files === null ? null : new Set(about.files);
  return manifest.files.flatMap(({ path, extents }): Unreadable[] => {
    if (states.size === 0 || wanted?.has(path) === false) return [];
    const found = extents.flatMap(({ key }) => states.get(key) ?? []);
    if (found.length === 0) return [];
    return [{ name: path, state: found.includes("archived") ? "archived" : "being-restored" }];
  });
}
