import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "./run-step.ts";
import { commentsOf } from "./sample.ts";
import {
  arrowOf,
  findCircles,
  findUpward,
  isForTests,
  mutualPairs,
  readImports,
  roomArrows,
  type Import,
} from "./tiers.ts";

/**
 * Measures the structure of the code. `npm run check -- --house` prints the numbers beside the recorded ones, and `--house
 * --write` records improvements. A number that grew fails the unit tests.
 */

/** Most lines of a function. */
const MOST_LINES = 120;
/** Most files in a folder, without tests. */
const MOST_FILES = 25;

export interface Baseline {
  numbers: Record<string, number>;
  /** Known violations of the tier law, as `from -> to`. */
  exceptions: string[];
}

const BASELINE = "e2e/gate/house-baseline.json";

const isBaseline = (value: unknown): value is Baseline =>
  typeof value === "object" && value !== null && "numbers" in value && "exceptions" in value;

/** Reads the recorded metrics. @throws Error when the file is not what this program wrote */
export function readBaseline(root = ROOT): Baseline {
  const value: unknown = JSON.parse(readFileSync(join(root, BASELINE), "utf8"));
  if (!isBaseline(value)) throw new Error(`${BASELINE} has neither numbers nor exceptions`);
  return value;
}

/** Counts the files of each product folder, without tests. */
function countFiles(root: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const file of globSync("{protocol,storage,worker,server,app}/**/*.{ts,tsx}", { cwd: root })) {
    if (isForTests(file)) continue;
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  return counts;
}

interface Diagnostic {
  message: string;
  filename: string;
  labels: { span: { line: number } }[];
}

const isReport = (value: unknown): value is { diagnostics: Diagnostic[] } =>
  typeof value === "object" && value !== null && "diagnostics" in value;

/** Returns product functions above the limit, longest first. oxlint counts blank lines and comments too. */
export function findLongFunctions(root = ROOT): { place: string; lines: number }[] {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-house-"));
  const config = join(folder, "lint.json");
  const rules = { "eslint/max-lines-per-function": ["error", { max: MOST_LINES }] };
  writeFileSync(config, JSON.stringify({ categories: { correctness: "off" }, rules }));
  const args = ["-c", config, "-f", "json", "protocol", "storage", "worker", "server", "app"];
  try {
    execFileSync(join(root, "node_modules/.bin/oxlint"), args, { cwd: root, stdio: "pipe", maxBuffer: 2 ** 26 });
    return [];
  } catch (error) {
    // oxlint ends with 1 when it found something.
    const output = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
    const report: unknown = JSON.parse(output);
    if (!isReport(report)) throw error;
    return report.diagnostics
      .filter(({ filename }) => !isForTests(filename))
      .map(({ message, filename, labels }) => ({
        place: `${filename}:${labels[0]?.span.line ?? 0}`,
        lines: Number(/\((\d+)\)/.exec(message)?.[1]),
      }))
      .toSorted((a, b) => b.lines - a.lines);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Returns files that name at least half of `kinds`: each of them must change for a new kind.
 * @param kinds identifiers of one list, as in the sources
 */
export function findTables(root: string, kinds: readonly string[]): string[] {
  const named = kinds.map((kind) => new RegExp(`["']${kind}["']|^\\s*${kind}(?::|\\(|,$)`, "m"));
  return globSync("{protocol,storage,worker,server,app}/**/*.{ts,tsx}", { cwd: root }).filter((file) => {
    if (isForTests(file)) return false;
    const text = readFileSync(join(root, file), "utf8").replaceAll(/\/\*[^]*?\*\//g, "");
    return named.filter((pattern) => pattern.test(text)).length * 2 >= kinds.length;
  });
}

/** Sentences that open with these words have no subject that a reader finds at once. */
const WITHOUT_SUBJECT = /^(What|Of|Who|Whose|Whatever)\s/;

/** Returns sentences in comments of product code that open with What, Of or Who and are no question, each with its place. */
export function findOddOpenings(root = ROOT): string[] {
  const files = globSync("{protocol,storage,worker,server,app}/**/*.{ts,tsx}", { cwd: root }).toSorted();
  const comments = files
    .filter((file) => !isForTests(file))
    .flatMap((file) => commentsOf(file, readFileSync(join(root, file), "utf8")));
  return comments.flatMap(({ place, text }) => {
    const plain = text.replaceAll(/^[ \t]*(?:\/\*\*?|\*\/|\*|\/\/)|\*\/$/gm, "").replaceAll(/\s+/g, " ");
    const sentences = plain.trim().split(/(?<=[.!?])\s+/);
    const odd = sentences.filter((sentence) => WITHOUT_SUBJECT.test(sentence) && !sentence.endsWith("?"));
    return odd.map((sentence) => `${place} ${sentence}`);
  });
}

/** Reads the names of a list from the file that declares it. @throws Error when it finds none */
function readKinds(root: string, about: { glob: string; list: RegExp; kind: RegExp }): string[] {
  const [file = about.glob] = globSync(about.glob, { cwd: root });
  const text = about.list.exec(readFileSync(join(root, file), "utf8"))?.[0] ?? "";
  const kinds = [...text.matchAll(about.kind)].map((match) => match[1] ?? "");
  if (kinds.length === 0) throw new Error(`${file} declares no kinds any more: mend e2e/gate/house.ts`);
  return kinds;
}

const PROVIDERS = { glob: "protocol/**/provider-names.ts", list: /PROVIDERS = \[[^\]]*\]/, kind: /"([a-z0-9]+)"/g };
const COMMANDS = { glob: "protocol/**/command-shapes.ts", list: /nodeCommands = [^]*/, kind: /z\.literal\("(\w+)"\)/g };

export interface House {
  numbers: Record<string, number>;
  /** Places behind each number. */
  details: Record<string, readonly string[]>;
  upward: Import[];
}

const top =
  (name: string) =>
  (one: { from: string }): boolean =>
    one.from.startsWith(`${name}/`);

/** Measures the metrics. Runs oxlint, so it takes about two seconds. */
export function measureHouse(root = ROOT): House {
  const imports = readImports(root);
  const product = imports.filter(({ from }) => !isForTests(from));
  const upward = findUpward(imports);
  const pairs = mutualPairs(imports);
  const values = findCircles(product.filter(({ isType, isLazy }) => !isType && !isLazy));
  const all = findCircles(product);
  const folders = [...countFiles(root)].toSorted((a, b) => b[1] - a[1]);
  const crowded = folders.filter(([, files]) => files > MOST_FILES);
  const long = findLongFunctions(root);
  const providers = findTables(root, readKinds(root, PROVIDERS));
  const commands = findTables(root, readKinds(root, COMMANDS));
  const details: Record<string, readonly string[]> = {};
  const numbers: Record<string, number> = {};
  const put = (name: string, list: readonly string[]): void => {
    numbers[name] = list.length;
    details[name] = list;
  };
  for (const name of ["server", "worker"]) {
    put(`arrows upwards, ${name}`, [...roomArrows(upward.filter(top(name)))]);
    put(`imports upwards, ${name}`, upward.filter(top(name)).map(arrowOf));
  }
  put("imports upwards, worker/transfer", upward.filter(top("worker/transfer")).map(arrowOf));
  for (const name of ["protocol", "storage", "worker", "server"]) {
    put(
      `mutual pairs, ${name}`,
      pairs.filter((pair) => pair.startsWith(`${name}/`)),
    );
  }
  put(
    "circles of values",
    values.map((circle) => circle.join(", ")),
  );
  put(
    "circles with types",
    all.map((circle) => circle.join(", ")),
  );
  put(
    `folders of more than ${MOST_FILES} files`,
    crowded.map(([folder, files]) => `${folder} ${files}`),
  );
  put(
    `functions of more than ${MOST_LINES} lines`,
    long.map(({ place, lines }) => `${place} ${lines}`),
  );
  numbers["files of the largest folder"] = folders[0]?.[1] ?? 0;
  numbers["lines of the longest function"] = long[0]?.lines ?? MOST_LINES;
  put("comments that open with What, Of or Who", findOddOpenings(root));
  put("files to touch for a new provider", providers);
  put("files to touch for a new command kind", commands);
  return { numbers, details, upward };
}

/** Returns what became worse than the baseline, one sentence each. */
export function findWorse(house: House, baseline: Baseline): string[] {
  const known = new Set(baseline.exceptions);
  const present = new Set(house.upward.map(arrowOf));
  return [
    ...Object.entries(house.numbers)
      .filter(([name, number]) => number > (baseline.numbers[name] ?? 0))
      .map(([name, number]) => `${name}: ${number}, recorded ${baseline.numbers[name] ?? 0}`),
    ...[...present].filter((arrow) => !known.has(arrow)).map((arrow) => `against the tier law: ${arrow}`),
    ...[...known]
      .filter((arrow) => !present.has(arrow))
      .map((arrow) => `is an exception no more, take it out of ${BASELINE}: ${arrow}`),
  ];
}

/** Returns the baseline with improvements applied. With `prior` null it is the first one. */
export function shrink(house: House, prior: Baseline | null): Baseline {
  const numbers = Object.fromEntries(
    Object.entries(house.numbers).map(([name, number]) => [name, Math.min(number, prior?.numbers[name] ?? number)]),
  );
  const present = house.upward.map(arrowOf).toSorted();
  const exceptions = prior === null ? present : present.filter((arrow) => prior.exceptions.includes(arrow));
  return { numbers, exceptions };
}

/** Prints the metrics beside the recorded ones. Returns whether none is worse. `args`: `--write`, `--list`. */
export function showHouse(args: readonly string[]): boolean {
  const house = measureHouse();
  const baseline = args.includes("--first") ? null : readBaseline();
  for (const [name, number] of Object.entries(house.numbers)) {
    const recorded = baseline?.numbers[name] ?? number;
    console.log(
      `${name.padEnd(44)}${String(number).padStart(5)}${recorded === number ? "" : `  recorded ${recorded}`}`,
    );
    if (args.includes("--list")) for (const line of house.details[name] ?? []) console.log(`    ${line}`);
  }
  if (args.includes("--write") || baseline === null) {
    writeFileSync(join(ROOT, BASELINE), `${JSON.stringify(shrink(house, baseline), null, 2)}\n`);
  }
  const worse = baseline === null ? [] : findWorse(house, args.includes("--write") ? readBaseline() : baseline);
  for (const line of worse) console.log(`! ${line}`);
  return worse.length === 0;
}

if (import.meta.main) process.exitCode = showHouse(process.argv.slice(2)) ? 0 : 1;
