import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/**
 * Looks at the final names of a restore while it runs: under each there may be nothing, what was there before, or the
 * whole new file, at any instant. Anything else is a half file that a training could load.
 */
export interface FinalNames {
  /** Looks once. */
  look(): void;
  stop(): string[];
}

const sumOf = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
const EVERY_MS = 25;

export function watchFinalNames(options: {
  /** SHA-256 that may be found, by path. */
  allowed: ReadonlyMap<string, ReadonlySet<string>>;
}): FinalNames {
  const seen = new Map<string, string>();
  const problems: string[] = [];
  const look = () => {
    for (const [path, allowed] of options.allowed) {
      const state = stateOf(path);
      if (state === null || seen.get(path) === state) continue;
      seen.set(path, state);
      if (existsSync(path) && !allowed.has(sumOf(path))) problems.push(`a half file lay under the final name ${path}`);
    }
  };
  const timer = setInterval(() => {
    try {
      look();
    } catch (error) {
      // A disk that lost its power answers nothing; what lies there is judged when it is back.
      if (!(error instanceof Error && "code" in error && error.code === "EIO")) throw error;
    }
  }, EVERY_MS);
  return {
    look,
    stop: () => {
      clearInterval(timer);
      look();
      return [...new Set(problems)];
    },
  };
}

/** Changes whenever the bytes can have changed. */
function stateOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
}

/** Every file under a folder, relative to it. */
export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((entry) => join(folder, entry))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .map((path) => relative(folder, path))
    .toSorted();
}

export const sumsUnder = (folder: string): Record<string, string> =>
  Object.fromEntries(filesUnder(folder).map((name) => [name, sumOf(join(folder, name))]));
