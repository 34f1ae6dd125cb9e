import * as z from "zod";

/**
 * Names come from untrusted sources: nodes, buckets, training scripts. They are parsed here once and refused rather than
 * repaired, because a repaired name can collide with another one. A parsed name is branded and safe in keys and paths.
 */

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Name of a run: 1 to 64 letters, digits, dots, dashes, underscores, starting with a letter or digit. */
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

/** Name shared by the nodes of one kind or place. The join token sets it; pages show it and filter by it. */
export const fleetName = z
  .string()
  .regex(NAME, "a fleet's name has 1 to 64 letters, digits, '.', '_' or '-' and starts with a letter or digit");
/** Default fleet of a node. */
export const FLEET = "default";

/** UUIDs or 128-bit hex, made by hub, nodes or pages. The length cap keeps oversized ids out of indexes. */
export const id = z.string().regex(/^[A-Za-z0-9-]{8,64}$/, "not an id");

/** One attempt at uploading one checkpoint. Part of every data key, and never reused. */
export const attemptId = z
  .string()
  .regex(/^[a-z0-9]{12,32}$/, "not an attempt id")
  .brand<"AttemptId">();
export type AttemptId = z.infer<typeof attemptId>;

export const writerEpoch = z.number().int().min(1).max(999_999);
/** Writer epoch of a checkpoint or of a parent. 0 precedes every writer: a checkpoint that another tool left. */
export const anyEpoch = z.number().int().min(0).max(999_999);
export const MOST_STEP = 999_999_999_999;
export const step = z.number().int().min(0).max(MOST_STEP);

const MOST_BYTES_EACH = 3;

/** Compares the length in UTF-8. Encodes only text that could be too long, because lists have a million names. */
const isLongerThan = (text: string, bytes: number): boolean =>
  text.length * MOST_BYTES_EACH > bytes && new TextEncoder().encode(text).length > bytes;

/**
 * Returns why a relative path is refused, or null when it is fine. `/` separates segments. Nodes run Linux, so a backslash,
 * a colon, `aux.c` and a trailing space or dot are allowed. Control characters are refused: no terminal or log shows them as
 * they are.
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

/** Path of a file inside a checkpoint: relative, `/`-separated. */
export const filePath = z
  .string()
  .max(800, "the path was refused: it is longer than 800 bytes")
  .superRefine((path, context) => {
    const why = whyPathRefused(path);
    if (why !== null) context.addIssue({ code: "custom", message: `the path was refused: ${why}` });
  })
  .brand<"FilePath">();
export type FilePath = z.infer<typeof filePath>;

/** Returns one text for all names that a file system treats as equal when it ignores case and Unicode normalization. */
export const foldName = (name: string): string => name.normalize("NFC").toLowerCase();

/**
 * Returns the first two paths that cannot exist together, or null: the same path twice, or a file with the name of a folder.
 * With `foldName` as `asOne` it checks for a disk that ignores case and normalization.
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
