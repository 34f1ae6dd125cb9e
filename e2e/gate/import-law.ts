import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/**
 * Holds the import law as data and finds violations. Lint reports them while editing; the test covers every file, also where
 * lint is disabled.
 */

export interface Broken {
  file: string;
  imports: string;
  why: string;
}

interface Law {
  may: readonly string[];
  /** Folders of which only types may be imported. */
  types: readonly string[];
  /** Packages that may be imported; null allows all. */
  packages: readonly RegExp[] | null;
}

const ALL = null;
export const LAW: Readonly<Record<string, Law>> = {
  protocol: { may: ["protocol"], types: [], packages: [/^zod$/] },
  storage: {
    may: ["storage", "protocol"],
    types: [],
    // `smtp-server` is the mail server of tests.
    packages: [/^node:/, /^@aws-sdk\//, /^@smithy\//, /^saxes$/, /^smtp-server$/],
  },
  worker: { may: ["worker", "storage", "protocol"], types: ["server"], packages: ALL },
  server: { may: ["server", "storage", "protocol", "prisma"], types: [], packages: ALL },
  prisma: { may: ["prisma", "protocol"], types: [], packages: ALL },
  app: { may: ["app", "protocol"], types: ["server", "storage"], packages: [/^(?!node:)/] },
  store: { may: ["store"], types: [], packages: [/^node:/] },
  e2e: { may: ["e2e", "protocol", "storage"], types: ["server"], packages: ALL },
  demo: { may: ["demo", "e2e", "protocol", "storage"], types: ["server"], packages: ALL },
  bench: { may: ["bench", "e2e", "protocol", "storage"], types: ["server"], packages: ALL },
  clients: { may: ["clients"], types: [], packages: [/^node:/] },
};

/** Files of storage that run in a browser, so the app may import their values. */
export const BROWSER_SAFE: ReadonlySet<string> = new Set([
  "storage/s3/copy-forms.ts",
  "storage/providers/providers.ts",
  "storage/providers/services.ts",
  "storage/providers/own-servers.ts",
  "storage/providers/provider-entry.ts",
  "storage/s3/plan.ts",
  "storage/checksums/combine-crc32.ts",
  "storage/answers/check-range.ts",
  "storage/answers/faults.ts",
  "storage/answers/fault-codes.ts",
  "storage/answers/clock-skew.ts",
  "storage/answers/xml.ts",
]);

const IMPORT =
  /(?:^|\n)\s*(import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g;

function* sources(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== "client" && entry.name !== "node_modules") yield* sources(path);
    } else if (/\.(ts|tsx|mts|mjs)$/.test(entry.name)) yield path;
  }
}

/** Returns every import in `root` that the law forbids. Tests obey the same law, but may import vitest. */
export function findBroken(root: string): Broken[] {
  const broken: Broken[] = [];
  for (const [folder, law] of Object.entries(LAW)) {
    const base = join(root, folder);
    if (!readdirSync(root).includes(folder)) continue;
    for (const path of sources(base)) broken.push(...brokenIn(root, { path, folder, law }));
  }
  return broken;
}

function brokenIn(root: string, at: { path: string; folder: string; law: Law }): Broken[] {
  const { path, folder, law } = at;
  const file = relative(root, path);
  const isTest = /\.test\.tsx?$/.test(path);
  const broken: Broken[] = [];
  for (const match of readFileSync(path, "utf8").matchAll(IMPORT)) {
    const specifier = match[3] ?? match[4] ?? "";
    const onlyType = match[2] !== undefined;
    const target = specifier.startsWith("#")
      ? specifier.slice(1)
      : specifier.startsWith(".")
        ? relative(root, resolve(dirname(path), specifier))
        : null;
    if (target === null) {
      const tested = isTest && /^(vitest|node:)/.test(specifier);
      if (!tested && law.packages !== null && !law.packages.some((allowed) => allowed.test(specifier))) {
        broken.push({ file, imports: specifier, why: `${folder} may not import this package` });
      }
      continue;
    }
    const owner = target.split("/")[0] ?? "";
    if (law.may.includes(owner)) continue;
    if (law.types.includes(owner) && onlyType) continue;
    if (folder === "app" && BROWSER_SAFE.has(target)) continue;
    // A test of the app runs in Node and may start a store.
    if (folder === "app" && isTest && owner === "storage") continue;
    if (!(owner in LAW)) continue; // package.json, next.config and the like
    const why = law.types.includes(owner)
      ? `${folder} may import only types of ${owner}`
      : `${folder} may not import ${owner}`;
    broken.push({ file, imports: specifier, why });
  }
  return broken;
}
