import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ROOT } from "../stage/start-process.ts";

/** Stores results line by line, so that a stopped run loses nothing. Lines of other versions of the program are ignored. */

const trial = z.object({
  kind: z.literal("trial"),
  program: z.string(),
  at: z.string(),
  class: z.string(),
  direction: z.enum(["up", "down"]),
  seed: z.number(),
  problems: z.array(z.string()),
  faults: z.number(),
  ending: z.string(),
  tookMs: z.number(),
  bytes: z.number(),
  resentBytes: z.number(),
  facts: z.record(z.string(), z.union([z.string(), z.number()])),
  replay: z.string(),
});
export type RecordedTrial = z.infer<typeof trial>;

const measure = z.object({
  kind: z.literal("measure"),
  program: z.string(),
  at: z.string(),
  name: z.string(),
  /** Row of the bar. */
  row: z.number(),
  says: z.string(),
  runs: z.number(),
  problems: z.array(z.string()),
  /** Measured values as text. */
  figures: z.array(z.string()),
  command: z.string(),
});
export type RecordedMeasure = z.infer<typeof measure>;

const line = z.discriminatedUnion("kind", [trial, measure]);

export interface Book {
  readonly trials: RecordedTrial[];
  readonly measures: RecordedMeasure[];
  add(entry: RecordedTrial | RecordedMeasure): void;
}

const FOLDER = join(ROOT, ".prove");

export function openBook(program: string, memory: "keep" | "forget"): Book {
  const file = join(FOLDER, "found.jsonl");
  mkdirSync(FOLDER, { recursive: true });
  if (memory === "forget") rmSync(file, { force: true });
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const entries = lines
    .filter((text) => text.endsWith("}"))
    .map((text) => line.parse(JSON.parse(text)))
    .filter((entry) => entry.program === program);
  const book: Book = {
    trials: entries.filter((entry) => entry.kind === "trial"),
    measures: entries.filter((entry) => entry.kind === "measure"),
    add: (entry) => {
      if (entry.kind === "trial") book.trials.push(entry);
      else book.measures.push(entry);
      appendFileSync(file, `${JSON.stringify(entry)}\n`);
    },
  };
  return book;
}
