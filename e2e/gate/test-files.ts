import { existsSync, globSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { ROOT } from "./run-step.ts";

/** Assigns test files to suites. `vitest.config.ts` reads this too. */

/** Unit tests that need a server of PostgreSQL: `npm run prove -- postgres` runs them. */
export const POSTGRES_TESTS = ["adapter", "lock-database", "rows", "same-schema"].map(
  (name) => `prisma/postgres/${name}.test.ts`,
);
const leftOut = process.env["TEST_DATABASE"] === "postgres" ? [] : POSTGRES_TESTS;

export const SUITES = {
  unit: {
    include: [
      "{protocol,storage,store,worker,server,app,prisma,demo,bench,clients}/**/*.test.{ts,tsx}",
      "e2e/{gate,prove,stage}/**/*.test.ts",
    ],
    // Tests of whole programs start processes, so they belong to the process suite.
    exclude: ["{server,store,demo}/main.test.ts", ...leftOut],
  },
  conformance: { include: ["e2e/conformance/**/*.test.ts"], exclude: [] },
  process: { include: ["e2e/process/**/*.test.ts", "{server,store,demo}/main.test.ts"], exclude: [] },
  faults: { include: ["e2e/faults/**/*.test.ts"], exclude: [] },
  browser: { include: ["e2e/browser/**/*.spec.ts"], exclude: [] },
} as const;

export type SuiteName = keyof typeof SUITES;
/** Test files by suite, relative to the repository. Empty suites are left out. */
export type Selection = Partial<Record<SuiteName, string[]>>;

const NAMES = ["unit", "conformance", "process", "faults", "browser"] as const satisfies readonly SuiteName[];

/** Lists every test file of the project by suite. */
export function listTestFiles(): Record<SuiteName, string[]> {
  const filesOf = (name: SuiteName): string[] => {
    const { include, exclude } = SUITES[name];
    const left = new Set(globSync([...exclude], { cwd: ROOT }));
    return globSync([...include], { cwd: ROOT })
      .filter((file) => !left.has(file))
      .toSorted();
  };
  return {
    unit: filesOf("unit"),
    conformance: filesOf("conformance"),
    process: filesOf("process"),
    faults: filesOf("faults"),
    browser: filesOf("browser"),
  };
}

/** Returns those of `all` for which `isWanted` holds. */
export function select(all: Record<SuiteName, string[]>, isWanted: (file: string) => boolean): Selection {
  const found: Selection = {};
  for (const name of NAMES) {
    const files = all[name].filter(isWanted);
    if (files.length > 0) found[name] = files;
  }
  return found;
}

/**
 * Returns the test files at given paths: files, or folders with everything below.
 * @throws Error with one sentence when a path does not exist or holds no test
 */
export function findNamed(paths: readonly string[], all = listTestFiles()): Selection {
  const wanted = new Set<string>();
  for (const path of paths) {
    const absolute = resolve(ROOT, path);
    if (!existsSync(absolute)) throw new Error(`There is no ${path}.`);
    const place = relative(ROOT, absolute);
    const isFolder = statSync(absolute).isDirectory();
    const inside = NAMES.flatMap((name) => all[name]).filter((file) =>
      isFolder ? place === "" || file.startsWith(`${place}/`) : file === place,
    );
    if (inside.length === 0) {
      throw new Error(
        isFolder
          ? `There is no test in ${path}.`
          : `${path} is not a test. "npm run test:near" runs the tests of what was changed.`,
      );
    }
    for (const file of inside) wanted.add(file);
  }
  return select(all, (file) => wanted.has(file));
}

/** Returns the suites of a selection, in the order in which they run. */
export const suitesOf = (selection: Selection): SuiteName[] => NAMES.filter((name) => selection[name] !== undefined);

/** Returns absolute paths, which no runner mistakes for a pattern. */
export const absolutePaths = (files: readonly string[]): string[] => files.map((file) => join(ROOT, file));
