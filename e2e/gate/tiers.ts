import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/**
 * Holds the tier law inside `server/` and `worker/` as data, and finds imports that break it. Tests may import anything of
 * their top folder.
 */

export interface Import {
  from: string;
  to: string;
  /** True when only types are imported, which has no effect at run time. */
  isType: boolean;
  /** True for a dynamic import, which loads on demand. */
  isLazy: boolean;
}

/**
 * Tiers, lowest first. A file imports its own room and lower tiers. Rooms of one tier may import each other, except features:
 * code that two features share belongs into core.
 */
export const TIERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  server: [["platform"], ["signer"], ["core"], ["features"], ["http", "router.ts"], ["main.ts", "upkeep"]],
  worker: [
    ["base"],
    ["command-line", "transfer"],
    [
      "engines",
      "hub-link",
      "host",
      "job-runner",
      "keys",
      "limits",
      "local-api",
      "lost-work",
      "notify",
      "object-copy",
      "probe",
      "program",
      "standalone",
      "store-session",
    ],
    ["capture"],
    ["upload"],
    ["restore"],
    ["replicas"],
    ["verification", "benchmarks"],
    ["agent"],
    ["supervise", "commands", "jobs"],
    ["cli"],
    ["main.ts", "build.ts", "packaging"],
  ],
};

/** Folders whose rooms are one level deeper. */
const SPLIT = ["server/core", "server/features"];

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s+)?([^"';]*?)\sfrom\s+["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)|(?:^|\n)\s*import\s+["']([^"']+)["']/g;

const isOnlyTypes = (names: string): boolean =>
  /^\{[^}]*\}$/.test(names) &&
  names
    .slice(1, -1)
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .every((name) => name.startsWith("type "));

/** Returns true for tests, and for files that only tests import. */
export const isForTests = (file: string): boolean => /\.test\.tsx?$|\/testing\//.test(file);

/** Returns every import of one file of the product by another; paths are relative to `root`. */
export function readImports(root: string): Import[] {
  const files = globSync("{protocol,storage,worker,server,app}/**/*.{ts,tsx}", { cwd: root });
  const known = new Set(files);
  const imports: Import[] = [];
  for (const from of files) {
    const text = readFileSync(join(root, from), "utf8");
    for (const [, type, names = "", named, dynamic, bare] of text.matchAll(IMPORT)) {
      const specifier = named ?? dynamic ?? bare ?? "";
      if (!/^[#.]/.test(specifier)) continue;
      const to = specifier.startsWith("#")
        ? specifier.slice(1)
        : relative(root, resolve(root, dirname(from), specifier));
      if (!known.has(to)) continue;
      imports.push({
        from,
        to,
        isType: type !== undefined || isOnlyTypes(names.trim()),
        isLazy: dynamic !== undefined,
      });
    }
  }
  return imports;
}

/** Returns the room of a file: `worker/upload`, `server/core/nodes`. A file beside the rooms is its own room. */
export function roomOf(file: string): string {
  // The router composes features as `http` does, but is in a higher tier because worker and pages import its types.
  if (file === "server/router.ts") return "server/http";
  const parts = file.split("/");
  const depth = SPLIT.includes(parts.slice(0, 2).join("/")) ? 3 : 2;
  return parts.slice(0, Math.min(depth, Math.max(2, parts.length - 1))).join("/");
}

/** Returns the tier of a file, 0 for the lowest; -1 for a folder without one. */
export function tierOf(file: string): number {
  const [top = "", room = ""] = file.split("/");
  return (TIERS[top] ?? []).findIndex((tier) => tier.includes(room));
}

/** Returns why an import breaks the tier law, or null. */
export function judgeImport({ from, to }: Import): string | null {
  const top = from.split("/")[0] ?? "";
  if (!(top in TIERS) || isForTests(from) || !to.startsWith(`${top}/`) || roomOf(from) === roomOf(to)) return null;
  if (isForTests(to)) return "product code may not import what is for tests";
  if (tierOf(from) < 0) return `${roomOf(from)} has no tier: add it to TIERS`;
  if (tierOf(to) < 0) return `${roomOf(to)} has no tier: add it to TIERS`;
  if (tierOf(to) > tierOf(from)) return "a lower tier may not import a higher one";
  if (from.startsWith("server/features/") && to.startsWith("server/features/")) {
    return "a feature may not import another feature";
  }
  return null;
}

/** Returns the imports that break the tier law. */
export const findUpward = (imports: readonly Import[]): Import[] => imports.filter((one) => judgeImport(one) !== null);

/** Formats an import as `from -> to`, as in the list of exceptions. */
export const arrowOf = ({ from, to }: Import): string => `${from} -> ${to}`;

/** Returns the imports between rooms, each pair of rooms once. */
export const roomArrows = (imports: readonly Import[]): Set<string> =>
  new Set(
    imports
      .filter(
        ({ from, to }) => !isForTests(from) && from.split("/")[0] === to.split("/")[0] && roomOf(from) !== roomOf(to),
      )
      .map(({ from, to }) => `${roomOf(from)} -> ${roomOf(to)}`),
  );

/** Returns pairs of rooms that import each other. */
export function mutualPairs(imports: readonly Import[]): string[] {
  const arrows = roomArrows(imports);
  return [...arrows]
    .map((arrow) => arrow.split(" -> "))
    .filter(([a = "", b = ""]) => a < b && arrows.has(`${b} -> ${a}`))
    .map((pair) => pair.join(" <-> "));
}

/** Returns groups of files with cyclic imports (strongly connected components of more than one file; Tarjan 1972). */
export function findCircles(imports: readonly Import[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to]);
  const order = new Map<string, number>();
  const stack: string[] = [];
  const open = new Set<string>();
  const circles: string[][] = [];
  const visit = (file: string): number => {
    let lowest = order.size;
    order.set(file, lowest);
    stack.push(file);
    open.add(file);
    for (const target of next.get(file) ?? []) {
      if (!order.has(target)) lowest = Math.min(lowest, visit(target));
      else if (open.has(target)) lowest = Math.min(lowest, order.get(target) ?? lowest);
    }
    if (lowest === order.get(file)) {
      const circle = stack.splice(stack.indexOf(file));
      for (const one of circle) open.delete(one);
      if (circle.length > 1) circles.push(circle.toSorted());
    }
    return lowest;
  };
  for (const file of next.keys()) if (!order.has(file)) visit(file);
  return circles;
}
