import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { bundleProgram } from "../faults/bundle.ts";
import { agentMemory } from "./agent-memory.ts";
import { proveAlone } from "./alone.ts";
import { proveKeys } from "./keys.ts";
import { largeFile, manyFiles } from "./extremes.ts";
import { proveFrameworks } from "./frameworks/prove-frameworks.ts";
import { recordLayouts } from "./frameworks/record-layouts.ts";
import { fullQueue } from "./full-queue.ts";
import { goodput } from "./goodput.ts";
import { proveImages } from "./images.ts";
import { inspectFuzz } from "./inspect-fuzz.ts";
import { proveLargeFleet } from "./large-fleet.ts";
import type { Measure } from "./measure.ts";
import { memory } from "./memory.ts";
import { HELP, type Options, readOptions } from "./options.ts";
import { proveNetwork } from "./network.ts";
import { overproduction } from "./overproduction.ts";
import { proveJobs } from "./prove-jobs.ts";
import { provePostgres } from "./prove-postgres.ts";
import { provePeers } from "./peers.ts";
import { probedLink } from "./probed-link.ts";
import { type Book, openBook } from "./record.ts";
import { runClasses } from "./run-classes.ts";
import { slowLink } from "./slow-link.ts";
import { proveSituations } from "./prove-situations.ts";
import { proveStrangers } from "./strangers.ts";
import { stopsInTime } from "./stops-in-time.ts";
import { proveTlsFaults } from "./tls-faults.ts";
import { trainingKills } from "./training-kills.ts";
import { writePage } from "./write-page.ts";

/** `npm run prove`: runs the full counts of the reliability bar. */

const MEASURES: readonly Measure[] = [
  goodput,
  memory,
  agentMemory,
  slowLink,
  stopsInTime,
  probedLink,
  manyFiles,
  fullQueue,
  largeFile,
  overproduction,
  trainingKills,
  inspectFuzz,
];

interface Run {
  options: Options;
  program: { path: string; digest: string };
  book: Book;
  /** Returns whether the time is up, so that nothing new may begin. */
  isOver: () => boolean;
  stop: AbortSignal;
}

/**
 * Returns a signal that aborts at SIGINT or SIGTERM. Running trials are stopped; earlier results are kept, and the page is
 * written.
 */
function listenForSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      console.log("Stopping. Press again to leave at once.");
      controller.abort();
    });
  }
  return controller.signal;
}

async function runMeasures(about: Run) {
  const { options, program, book, isOver } = about;
  const wanted = MEASURES.filter(({ name }) => options.measures.length === 0 || options.measures.includes(name));
  for (const { name, row, says, whyNot, run } of wanted) {
    if (isOver()) return;
    if (options.measures.length === 0 && book.measures.some((one) => one.name === name)) continue;
    const why = whyNot?.() ?? null;
    console.log(`  ${says}${why === null ? "" : `: cannot be run: ${why}`}`);
    if (why !== null) continue;
    const { runs, problems, figures } = await run(program.path);
    const command = `npm run prove -- --measure ${name}`;
    const at = new Date().toISOString();
    book.add({
      kind: "measure",
      program: program.digest,
      at,
      name,
      row,
      says,
      runs,
      problems: [...problems],
      figures: [...figures],
      command,
    });
    for (const figure of figures) console.log(`    ${figure}`);
    for (const problem of problems) console.log(`  x ${problem}`);
  }
}

/** Proofs that run once instead of in trials and have no row on the page. */
const OTHERS: Readonly<Record<string, (argv: readonly string[]) => Promise<number>>> = {
  images: proveImages,
  peers: provePeers,
  "large-fleet": proveLargeFleet,
  strangers: proveStrangers,
  frameworks: proveFrameworks,
  layouts: recordLayouts,
  tls: proveTlsFaults,
  keys: proveKeys,
  network: proveNetwork,
  alone: proveAlone,
  jobs: proveJobs,
  postgres: provePostgres,
  situations: proveSituations,
};

async function main(): Promise<number> {
  const [first = ""] = process.argv.slice(2);
  const other = OTHERS[first];
  if (other !== undefined) return other(process.argv.slice(3));
  const options = readOptions(
    process.argv.slice(2),
    MEASURES.map(({ name }) => name),
  );
  if (options === "help") {
    console.log(HELP);
    return 0;
  }
  const path = await bundleProgram();
  const program = { path, digest: createHash("sha256").update(readFileSync(path)).digest("hex") };
  const book = openBook(program.digest, options.isFresh ? "forget" : "keep");
  const until = options.minutes === null ? Infinity : performance.now() + options.minutes * 60_000;
  const stop = listenForSignals();
  const run: Run = { options, program, book, isOver: () => stop.aborted || performance.now() >= until, stop };
  try {
    if (options.only !== "measures") await runClasses(run);
    if (options.only !== "classes") await runMeasures(run);
  } finally {
    rmSync(dirname(path), { recursive: true, force: true });
  }
  if (options.isReplay) return process.exitCode === 1 ? 1 : 0;
  const page = writePage(book, MEASURES);
  const trials = page.classes.reduce((sum, one) => sum + one.trials, 0);
  const failed =
    page.classes.reduce((sum, one) => sum + one.failed, 0) +
    page.measures.filter(({ problems }) => problems.length > 0).length;
  console.log(`${trials} transfers, ${failed} not as they should be. docs/reliability.md was written.`);
  if (stop.aborted) return 130;
  return failed === 0 ? 0 : 1;
}

try {
  // Explicit, because stopped trials leave handles that would keep the process alive.
  process.exit(await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
