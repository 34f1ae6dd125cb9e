import { emptyStore, type ReadStore } from "./read-store.ts";

/** Reads text that was copied from the page on which a provider shows a new key: labels with values behind or below them. Pure. */

const LABELS = [
  ["id", /^(?:access ?key ?id|access ?key|key ?id)\b/i],
  ["secret", /^(?:secret ?access ?key|secret ?key|application ?key)\b/i],
  ["endpoint", /^(?:s3 )?(?:endpoint|api)\b/i],
] as const;
const URL_IN = /https?:\/\/[^\s"'<>]+/;

/** Returns the value of a line: what follows its label, or else the next line. */
function valueAt(lines: readonly string[], at: number, label: RegExp): string | null {
  const rest = (lines[at] ?? "").replace(label, "").replace(/^[\s:=]+/, "");
  const value = rest === "" ? (lines[at + 1] ?? "") : rest;
  return /^\S+$/.test(value) ? value : null;
}

/** Returns the store of such a page; null when it has no pair of keys. Sources: the key pages of Cloudflare R2 and Backblaze B2. */
export function readPage(text: string): ReadStore | null {
  const lines = text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const found = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    for (const [name, label] of LABELS) {
      const value = label.test(line) && !found.has(name) ? valueAt(lines, at, label) : null;
      if (value !== null) found.set(name, value);
    }
  }
  const [accessKeyId, secretAccessKey] = [found.get("id") ?? null, found.get("secret") ?? null];
  if (accessKeyId === null || secretAccessKey === null) return null;
  const isB2 = /^\s*application ?key\b/im.test(text);
  const endpoint = URL_IN.exec(text)?.[0] ?? found.get("endpoint") ?? null;
  const unknownRegion =
    "the page does not say the region: take the endpoint from the bucket's page, s3.REGION.backblazeb2.com";
  return {
    ...emptyStore("copied page"),
    provider: isB2 ? "b2" : null,
    endpoint,
    problems: isB2 && endpoint === null ? [unknownRegion] : [],
    accessKeyId,
    secretAccessKey,
  };
}
