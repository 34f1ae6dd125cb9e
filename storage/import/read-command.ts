/** Parses an rclone command line as a shell would: verb, flags and operands. Pure. */

export interface RcloneCommand {
  verb: string;
  /** By name without dashes; null for a flag without a value. */
  flags: Map<string, string | null>;
  /** Paths and remotes, in order. */
  operands: string[];
}

const MOST_WORDS = 200;

/** Splits a line into words: quotes and backslashes as in POSIX shells, without expansion. Stops at `|`, `;`, `&` and `>`. */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let index = 0; index < line.length && words.length < MOST_WORDS; index++) {
    const sign = line[index] ?? "";
    if (quote !== null) {
      if (sign === quote) quote = null;
      else word = (word ?? "") + sign;
    } else if (sign === "'" || sign === '"') {
      quote = sign;
      word ??= "";
    } else if (sign === "\\" && index + 1 < line.length) {
      word = (word ?? "") + (line[++index] ?? "");
    } else if (/\s/.test(sign)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (/[|;&>]/.test(sign)) break;
    else word = (word ?? "") + sign;
  }
  if (word !== null) words.push(word);
  return words;
}

/**
 * Flags without a value. Any other flag takes the next word, unless that is a flag too. Source: rclone's global flags and
 * those of its S3 backend, https://rclone.org/flags/.
 */
const ALONE: ReadonlySet<string> = new Set(
  `P progress v vv verbose q quiet n dry-run i interactive c checksum ignore-checksum ignore-existing ignore-size size-only
   update u immutable inplace no-traverse no-check-dest no-check-certificate no-gzip-encoding no-update-modtime
   no-update-dir-modtime metadata M fast-list disable-http2 use-mmap use-server-modtime stats-one-line
   stats-one-line-date track-renames delete-before delete-during delete-after delete-excluded ignore-errors
   ignore-times I ignore-case copy-links links l create-empty-src-dirs error-on-no-transfer use-json-log
   s3-no-check-bucket s3-no-head s3-no-head-object s3-env-auth s3-force-path-style s3-disable-checksum
   s3-disable-http2 s3-v2-auth s3-use-accelerate-endpoint s3-use-unsigned-payload s3-leave-parts-on-error
   s3-memory-pool-use-mmap s3-directory-markers s3-requester-pays s3-versions s3-decompress s3-no-system-metadata
   one-way download`.split(/\s+/),
);

/** Parses a command. One-letter shorthands with a value are not supported; none of them matters here. */
export function readCommand(line: string): RcloneCommand {
  const words = wordsOf(line);
  const start = words.findIndex((word) => /(?:^|\/)rclone(?:\.exe)?$/.test(word));
  const flags: RcloneCommand["flags"] = new Map();
  const rest: string[] = [];
  const given = words.slice(start + 1);
  for (let index = 0; index < given.length; index++) {
    const word = given[index] ?? "";
    if (!/^--?[A-Za-z]/.test(word)) {
      rest.push(word);
      continue;
    }
    const [name = "", ...value] = word.replace(/^--?/, "").split("=");
    const next = given[index + 1];
    if (value.length > 0) flags.set(name, value.join("="));
    else if (ALONE.has(name) || next === undefined || /^--?[A-Za-z]/.test(next)) flags.set(name, null);
    else {
      flags.set(name, next);
      index++;
    }
  }
  const [verb = "", ...operands] = rest;
  return { verb, flags, operands };
}

/** Splits `remote:bucket/folder`; null for a local path. */
export function remoteOf(operand: string): { remote: string; bucket: string | null; prefix: string } | null {
  const [, remote, path] = /^([A-Za-z0-9_.+@ -]{2,128}):(.*)$/.exec(operand) ?? [];
  if (remote === undefined || path === undefined) return null;
  const [bucket = "", ...folders] = path.split("/").filter((piece) => piece !== "");
  return { remote, bucket: bucket === "" ? null : bucket, prefix: folders.map((one) => `${one}/`).join("") };
}
