import type { EngineName } from "#protocol/benchmarks/engines.ts";
import { summarize } from "#protocol/benchmarks/summarize.ts";
import { faultFrom } from "#protocol/faults/fault.ts";
import type { Terminal } from "../command-line/terminal.ts";
import { EXIT } from "../command-line/command-context.ts";
import type { BenchCaseEnd } from "#protocol/benchmarks/turn.ts";
import type { BenchOptions } from "./options.ts";
import { benchTables, caseLines } from "./messages.ts";

/** Facts that a comparison prints from its start to its tables, with a hub or without one. */
export interface BenchFacts {
  id: string;
  /** Name of the bucket for people. */
  place: string;
  /** The bucket profile of a hub, and the page where the hub shows it; null without one. */
  profile: string | null;
  page: string | null;
  options: BenchOptions;
}

const factsOf = ({ id, profile, page, options }: BenchFacts) => {
  const { directions, rounds, seed, sizeBytes, partBytes, connections } = options;
  return { id, profile, page, directions, rounds, seed, sizeBytes, partBytes, connections };
};

export function sayBegun(terminal: Terminal, about: BenchFacts, engines: readonly EngineName[]): void {
  const text = `Comparing ${engines.length} engines at ${about.place}, order of seed ${about.options.seed}.`;
  terminal.say(text, { type: "bench-started", engines, ...factsOf(about) });
}

export const sayCase = (terminal: Terminal, end: BenchCaseEnd, at: { index: number; of: number }): void =>
  terminal.say(caseLines(end, at), { type: "case", ...end, ...at });

/** Prints the tables. @returns the exit code. Faults: that of the first case when all have failed. */
export function sayTables(terminal: Terminal, about: BenchFacts, ends: readonly BenchCaseEnd[]): number {
  const { options, page } = about;
  const summary = summarize(ends.map((end) => ({ ...end, subject: String(end.round) })));
  const failed = ends.filter(({ fault }) => fault !== null);
  const [first] = failed;
  // All cases failed, so no engine was measured: the first fault says what is in the way.
  if (first?.fault != null && failed.length === ends.length) throw faultFrom(first.fault, "bench");
  const tables = benchTables(summary, { ...options, ends });
  terminal.result(page === null ? tables : [...tables, `Kept by the hub: ${page}`], {
    type: "bench",
    ...factsOf(about),
    cases: ends.length,
    failed: failed.length,
    ...summary,
  });
  return failed.length === 0 ? EXIT.ok : EXIT.partly;
}
