import { hash } from "node:crypto";
import { basename, dirname, join } from "node:path";

/** Longest name on the disks of Linux (NAME_MAX), bytes. */
const MOST_BYTES = 255;
const HASH_HEX = 16;

/**
 * Returns the path beside a file or folder that has its name with something before and behind it. A name that would get too
 * long is cut, and told apart by its hash: a checkpoint may have a name that fills the limit alone. `roomBytes`: what is added
 * to the result later.
 */
export function nameBeside(
  path: string,
  { before, behind = "", roomBytes = 0 }: { before: string; behind?: string; roomBytes?: number },
): string {
  const most = MOST_BYTES - roomBytes - Buffer.byteLength(before) - Buffer.byteLength(behind);
  return join(dirname(path), `${before}${fitted(basename(path), most)}${behind}`);
}

function fitted(name: string, most: number): string {
  if (Buffer.byteLength(name) <= most) return name;
  const mark = `~${hash("sha256", name).slice(0, HASH_HEX)}`;
  let kept = "";
  let bytes = mark.length;
  for (const letter of name) {
    bytes += Buffer.byteLength(letter);
    if (bytes > most) break;
    kept += letter;
  }
  return `${kept}${mark}`;
}
