import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { ROOT } from "./run-step.ts";

/** Reads from the text of each file which others it imports. `import type` does not count, because the type checker covers it. */

const FOLDERS = "{protocol,storage,store,worker,server,app,prisma,demo,bench,clients,e2e}";
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(?!type\s)(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g;
/** Matches `join(import.meta.dirname, "training.py")` and `new URL("./main.ts", import.meta.url)`: started or read files. */
const BESIDE = /import\.meta\.dirname,\s*"([^"]+)"\)|new URL\("([^"]+)", import\.meta\.url\)/g;

/** Files by path relative to the repository, each with the files that it imports or names by path. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

export function readImportGraph(root = ROOT): ImportGraph {
  const files = globSync(`${FOLDERS}/**/*.{ts,tsx,mjs,py,c,sql,json}`, {
    cwd: root,
    exclude: ["**/node_modules/**", "bench/results/**"],
  });
  const known = new Set(files);
  const graph = new Map<string, Set<string>>();
  for (const file of files.filter((name) => /\.(ts|tsx|mjs)$/.test(name))) {
    const text = readFileSync(join(root, file), "utf8");
    const specifiers = [...text.matchAll(IMPORT), ...text.matchAll(BESIDE)].map((match) => match[1] ?? match[2] ?? "");
    const isBeside = new Set([...text.matchAll(BESIDE)].map((match) => match[1] ?? match[2] ?? ""));
    const targets = new Set<string>();
    for (const specifier of specifiers) {
      const target = specifier.startsWith("#")
        ? specifier.slice(1)
        : specifier.startsWith(".") || isBeside.has(specifier)
          ? relative(root, resolve(root, dirname(file), specifier))
          : null;
      if (target !== null && known.has(target)) targets.add(target);
    }
    graph.set(file, targets);
  }
  return graph;
}

/** Returns the number of imports between each file and the nearest of `changed`; files that reach none are left out. */
export function distancesTo(changed: readonly string[], graph: ImportGraph): Map<string, number> {
  const importers = new Map<string, string[]>();
  for (const [file, targets] of graph) {
    for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), file]);
  }
  const distances = new Map<string, number>(changed.map((file) => [file, 0]));
  const queue = [...distances.keys()];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const importer of importers.get(next) ?? []) {
      if (distances.has(importer)) continue;
      distances.set(importer, (distances.get(next) ?? 0) + 1);
      queue.push(importer);
    }
  }
  return distances;
}
