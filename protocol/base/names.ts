import * as z from "zod";

/**
 * Names come from strangers: nodes, buckets, training scripts. They are parsed here once and refused rather than repaired,
 * because a repaired name can collide with another one. What passes is branded and safe to use in keys and paths.
 */

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A run: 1 to 64 letters, digits, dots, dashes, underscores, starting with a letter or digit. */
export const runName = z
  .string()
  .regex(NAME, "a run name has 1 to 64 letters, digits, '.', '_' or '-' and starts with a letter or digit")
  .brand<"RunName">();
export type RunName = z.infer<typeof runName>;

export const nodeName = z
  .string()
  .regex(NAME, "a node name has 1 to 64 letters, digits, '.', '_' or '-' and starts with a letter or digit")
  .brand<"NodeName">();
export type NodeName = z.infer<typeof nodeName>;

/** What the nodes of one kind or place are called together: given by the join token, shown, filtered by. */
export const fleetName = z
  .string()
  .regex(NAME, "a fleet's name has 1 to 64 letters, digits, '.', '_' or '-' and starts with a letter or digit");
/** The fleet of a node that nobody put into another. */
export const FLEET = "default";

/** Ids are made by us (UUIDs or 128-bit hex); the length cap keeps strangers' ids out of indexes. */
export const id = z.string().regex(/^[A-Za-z0-9-]{8,64}$/, "not an id");

/** One attempt at uploading one checkpoint: part of every data key, never used again. */
export const attemptId = z
  .string()
  .regex(/^[a-z0-9]{12,32}$/, "not an attempt id")
  .brand<"AttemptId">();
export type AttemptId = z.infer<typeof attemptId>;

export const writerEpoch = z.number().int().min(1).max(999_999);
/** Where an epoch went on from, or what a checkpoint belongs to. 0: before every writer, what another tool left. */
export const anyEpoch = z.number().int().min(0).max(999_999);
export const MOST_STEP = 999_999_999_999;
export const step = z.number().int().min(0).max(MOST_STEP);

const MOST_BYTES_EACH = 3;

/** As UTF-8. Only what might be is encoded: lists have a million names. */
const isLongerThan = (text: string, bytes: number): boolean =>
  text.length * MOST_BYTES_EACH > bytes && new TextEncoder().encode(text).length > bytes;

/**
 * Returns why a relative path is refused, or null when it is fine. `/` separates segments. Nodes run Linux, where a backslash, a colon,
 * `aux.c`, a space or a dot at the end are ordinary; control characters are too, but no terminal or log shows them as they are.
 */
export function whyPathRefused(path: string, mostBytes = 800): string | null {
  if (path.length === 0) return "it is empty";
  if (isLongerThan(path, mostBytes)) return `it is longer than ${mostBytes} bytes`;
  if (!path.isWellFormed()) return "it is not valid Unicode";
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return "it contains control characters";
  if (path.startsWith("/")) return "it is absolute";
  for (const segment of path.split("/")) {
    if (segment === "") return "it has an empty segment";
    if (segment === "." || segment === "..") return "it contains '.' or '..'";
    if (isLongerThan(segment, 255)) return "a segment is longer than 255 bytes";
  }
  return null;
}

/** The path of a file inside a checkpoint: relative, `/`-separated. */
export const filePath = z
  .string()
  .max(800, "the path was refused: it is longer than 800 bytes")
  .superRefine((path, context) => {
    const why = whyPathRefused(path);
    if (why !== null) context.addIssue({ code: "custom", message: `the path was refused: ${why}` });
  })
  .brand<"FilePath">();
export type FilePath = z.infer<typeof filePath>;

/** Returns what a file system that folds case and accents takes for the same name. */
export const foldName = (name: string): string => name.normalize("NFC").toLowerCase();

/**
 * Finds paths that cannot lie beside each other: the same one twice, or a file with the name of a folder. Returns the first such pair.
 * With `foldName` as `asOne`: on a disk that folds case and accents.
 */
export function findCollision(
  paths: readonly string[],
  asOne: (path: string) => string = (path) => path,
): [string, string] | null {
  const seen = new Map<string, string>();
  for (const path of paths) {
    const one = asOne(path);
    const earlier = seen.get(one);
    if (earlier !== undefined) return [earlier, path];
    seen.set(one, path);
  }
  const folders = new Set<string>();
  for (const one of seen.keys()) {
    const segments = one.split("/");
    for (let depth = 1; depth < segments.length; depth++) folders.add(segments.slice(0, depth).join("/"));
  }
  for (const [one, path] of seen) if (folders.has(one)) return [path, `${path}/`];
  return null;
}
