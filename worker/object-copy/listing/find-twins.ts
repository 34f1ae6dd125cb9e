import { crc32 } from "node:zlib";
import { foldName } from "#protocol/base/names.ts";
import { numbered, type Rows } from "#worker/base/rows.ts";

/** The folders that a name lies in, the outermost first. */
export function* foldersAbove(name: string): Generator<string> {
  for (let at = name.indexOf("/"); at >= 0; at = name.indexOf("/", at + 1)) yield name.slice(0, at);
}

/**
 * Finds names that a disk which folds case and accents takes for the name, or for a folder, of another: each by its place, with that other.
 * Sums of the names are compared first, and only those whose sums meet are compared themselves: a million names take 4 MB.
 */
export function findTwins(names: Rows<string>): Map<number, string> {
  const suspects = suspectsOf(names);
  const twins = new Map<number, string>();
  if (suspects.size === 0) return twins;
  /** By what they fold to; a folder is there by the first name in it. */
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

/** The sums that two names, or a name and a folder, have in common. */
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

/** Whether it is among them; they are in order. */
function has(sums: Uint32Array, sum: number): boolean {
  let [from, to] = [0, sums.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sums[middle] ?? 0) < sum) from = middle + 1;
    else to = middle;
  }
  return sums[from] === sum;
}
