import { crc32 } from "node:zlib";
import { Fault } from "#protocol/fault.ts";
import { findCollision, foldName } from "#protocol/names.ts";
import { placesOf, pickRows, type Rows } from "../listing/rows.ts";

/** Fewer are compared at once. */
const FEW = 4_096;

/** The folders that a name lies in, the outermost first. */
export function* foldersAbove(name: string): Generator<string> {
  for (let at = name.indexOf("/"); at >= 0; at = name.indexOf("/", at + 1)) yield name.slice(0, at);
}

/**
 * No two names land on one file, and none on a folder. Of very many, sums of the names are compared first, and only those whose sums meet
 * are compared themselves: a million names take 4 MB.
 * @throws Fault HOSTILE_NAME
 */
export function assertDistinct(names: Rows<string>): void {
  const collision = findCollision([...(names.length <= FEW ? names : suspectsOf(names))]);
  if (collision === null) return;
  const [subject, other] = collision;
  throw new Fault("HOSTILE_NAME", { op: "cp", subject, detail: `it would land on the same file as ${other}` });
}

function suspectsOf(names: Rows<string>): Rows<string> {
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
  if (suspects.size === 0) return [];
  const isSuspect = (name: string): boolean => {
    const folded = foldName(name);
    if (suspects.has(crc32(folded))) return true;
    for (const folder of foldersAbove(folded)) if (suspects.has(crc32(folder))) return true;
    return false;
  };
  return pickRows(names, placesOf(names, isSuspect));
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
