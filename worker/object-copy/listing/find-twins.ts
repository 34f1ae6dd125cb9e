import { crc32 } from "node:zlib";
import { foldName } from "#protocol/base/names.ts";
import { numbered, type Rows } from "#worker/base/rows.ts";

/** Yields the folders above a name, outermost first. */
export function* foldersAbove(name: string): Generator<string> {
  for (let at = name.indexOf("/"); at >= 0; at = name.indexOf("/", at + 1)) yield name.slice(0, at);
}

/**
 * Finds names that collide with another name, or with its folder, on a disk that ignores case or accents. Returns the index
 * of each with the other name. CRC32s of the names are compared first, and only names with equal CRC32s themselves, so a
 * million names take 4 MB.
 */
export function findTwins(names: Rows<string>): Map<number, string> {
  const suspects = suspectsOf(names);
  const twins = new Map<number, string>();
  if (suspects.size === 0) return twins;
  /** Names by their folded form, and for each folded folder the first name in it. */
  const [files, folders] = [new Map<string, string>(), new Map<string, string>()];
  for (const [index, name] of numbered(names)) {
    const folded = foldName(name);
    const above = [...foldersAbove(folded)];
    const isSuspect = suspects.has(crc32(folded)) || above.some((one) => suspects.has(crc32(one)));
    if (!isSuspect) continue;
    const other = files.get(folded) ?? folders.get(folded) ?? above.map((one) => files.get(one)).find((one) => one);
    if (other !== undefined) {
      twins.set(index, other);
      continue;
    }
    files.set(folded, name);
    for (const one of above) if (!folders.has(one)) folders.set(one, name);
  }
  return twins;
}

/** Returns the CRC32s that two names, or a name and a folder, have in common. */
function suspectsOf(names: Rows<string>): Set<number> {
  const sums = new Uint32Array(names.length);
  let index = 0;
  for (const name of names) sums[index++] = crc32(foldName(name));
  sums.sort();
  const suspects = new Set<number>();
  for (let at = 1; at < sums.length; at++) {
    const sum = sums[at];
    if (sum !== undefined && sum === sums[at - 1]) suspects.add(sum);
  }
  let before = "";
  for (const name of names) {
    const folder = foldName(name.slice(0, name.lastIndexOf("/") + 1));
    if (folder === before) continue;
    before = folder;
    for (const one of foldersAbove(folder)) {
      const sum = crc32(one);
      if (has(sums, sum)) suspects.add(sum);
    }
  }
  return suspects;
}

/** Tells whether a sorted array contains a sum, by binary search. */
function has(sums: Uint32Array, sum: number): boolean {
  let [from, to] = [0, sums.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sums[middle] ?? 0) < sum) from = middle + 1;
    else to = middle;
  }
  return sums[from] === sum;
}
