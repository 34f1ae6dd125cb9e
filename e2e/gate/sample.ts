import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./run-step.ts";

/**
 * Prints a seeded sample of product comments and of paragraphs in `docs/`: `npm run check -- --sample 7`. A reader judges
 * whether each is clear at the first reading. Equal seeds and trees give equal samples.
 */

const COMMENTS = 30;
const PARAGRAPHS = 10;

export interface Passage {
  /** As `path:line`, relative to the root of the repository. */
  place: string;
  text: string;
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split("\n").length;

/** Returns the comments of a source text: blocks, and consecutive lines of `//` as one. */
export function commentsOf(path: string, text: string): Passage[] {
  const found = text.matchAll(/^[ \t]*(\/\*\*?[\s\S]*?\*\/|\/\/.*(?:\n[ \t]*\/\/.*)*)/gm);
  return [...found].map(({ 0: whole, index }) => ({ place: `${path}:${lineAt(text, index)}`, text: whole.trim() }));
}

/** Returns the paragraphs of a Markdown text that are prose: no headings, tables or code. */
export function paragraphsOf(path: string, text: string): Passage[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, (code) => code.replaceAll(/[^\n]/g, ""));
  return [...prose.matchAll(/(?:^(?!\s*[#|]).*\S.*\n?)+/gm)].map(({ 0: whole, index }) => ({
    place: `${path}:${lineAt(prose, index)}`,
    text: whole.trim(),
  }));
}

/** Returns a seeded generator of numbers from 0 (inclusive) to 1 (exclusive): mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns `count` different passages, or all of them when there are fewer. */
export function choose(passages: readonly Passage[], { seed, count }: { seed: number; count: number }): Passage[] {
  const random = randomOf(seed);
  const left = [...passages];
  const chosen: Passage[] = [];
  while (chosen.length < count && left.length > 0) {
    chosen.push(...left.splice(Math.floor(random() * left.length), 1));
  }
  return chosen;
}

const passagesIn = (pattern: string, read: (path: string, text: string) => Passage[]): Passage[] =>
  globSync(pattern, { cwd: ROOT })
    .toSorted()
    .filter((path) => !path.includes(".test."))
    .flatMap((path) => read(path, readFileSync(join(ROOT, path), "utf8")));

/** Prints the sample. Returns false when the seed is no whole number. */
export function showSample(args: readonly string[]): boolean {
  const word = args[args.indexOf("--sample") + 1] ?? "";
  if (!/^\d+$/.test(word)) {
    console.error("--sample takes a seed: npm run check -- --sample 7");
    return false;
  }
  const seed = Number(word);
  const code = passagesIn("{protocol,storage,worker,server,app}/**/*.{ts,tsx}", commentsOf);
  const docs = passagesIn("docs/*.md", paragraphsOf);
  const chosen = [...choose(code, { seed, count: COMMENTS }), ...choose(docs, { seed, count: PARAGRAPHS })];
  for (const { place, text } of chosen) console.log(`${place}\n${text}\n`);
  return true;
}
