import { setTimeout as pause } from "node:timers/promises";
import { killCopies } from "../faults/copy.ts";
import type { FaultClass } from "../faults/fault-class.ts";
import { createRigPool } from "../faults/rig-pool.ts";
import { FAULT_CLASSES } from "../faults/table.ts";
import type { Direction } from "../faults/toxics.ts";
import { runTrial } from "../faults/trial.ts";
import type { Options } from "./options.ts";
import type { Book } from "./record.ts";

/** Trials per class in the bar, over both directions. */
const FULL_COUNT = 200;

const PUT_AWAY_MS = 3_000;

interface Job {
  readonly faultClass: FaultClass;
  readonly direction: Direction;
  readonly seed: number;
}

export function jobsOf(options: Options): Job[] {
  const classes = FAULT_CLASSES.filter(({ name }) => options.classes.length === 0 || options.classes.includes(name));
  return classes.flatMap((faultClass) => {
    const directions = faultClass.directions.filter((direction) => options.directions.includes(direction));
    const each = options.isReplay ? 1 : Math.ceil((options.count ?? FULL_COUNT) / Math.max(1, directions.length));
    return directions.flatMap((direction) =>
      Array.from({ length: each }, (_, index) => ({ faultClass, direction, seed: options.seed + index })),
    );
  });
}

/** Runs every trial that the book does not contain yet, several in parallel. */
export async function runClasses(about: {
  options: Options;
  program: { path: string; digest: string };
  book: Book;
  /** Returns whether the time is up, so that nothing new may begin. */
  isOver: () => boolean;
  /** Aborts running trials too; their results are discarded. */
  stop: AbortSignal;
}): Promise<void> {
  const { options, program, book, isOver, stop } = about;
  const nameOf = (one: { class: string; direction: string; seed: number }) =>
    `${one.class} ${one.direction} ${one.seed}`;
  const known = new Set(book.trials.map(nameOf));
  const jobs = jobsOf(options).filter(
    ({ faultClass, direction, seed }) =>
      options.isReplay || !known.has(nameOf({ class: faultClass.name, direction, seed })),
  );
  // Sorted by seed, so that the classes interleave: trials that mostly wait run beside busy ones.
  const queue = [...jobs].sort((a, b) => a.seed - b.seed);
  const rigs = createRigPool({ program: program.path, size: options.scale === "short" ? "small" : "large" });
  let done = 0;
  const lane = async () => {
    for (let job = queue.shift(); job !== undefined && !isOver(); job = queue.shift()) {
      const { faultClass, direction, seed } = job;
      const result = await rigs.use(faultClass, (rig) =>
        runTrial(rig, { faultClass, direction, seed, scale: options.isReplay ? options.scale : "full" }),
      );
      if (stop.aborted) return;
      done++;
      if (options.isReplay) {
        tell(result, "all");
        if (result.problems.length > 0) process.exitCode = 1;
        continue;
      }
      book.add({
        kind: "trial",
        program: program.digest,
        at: new Date().toISOString(),
        ...result,
        problems: [...result.problems],
      });
      tell(result, "problems");
      if (done % 100 === 0) console.log(`  ${done} of ${jobs.length} transfers`);
    }
  };
  const stopped = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
  const all = Promise.all(Array.from({ length: Math.min(options.lanes, jobs.length) }, lane));
  // Trials fail when their store is removed after a stop; these failures mean nothing.
  all.catch(() => undefined);
  try {
    await Promise.race([all, stopped]);
  } finally {
    if (stop.aborted) {
      killCopies();
      // Most trials end then and unmount their file systems.
      await Promise.race([all.catch(() => undefined), pause(PUT_AWAY_MS)]);
    }
    await rigs.close();
  }
}

function tell(result: Awaited<ReturnType<typeof runTrial>>, what: "all" | "problems"): void {
  const { problems, direction, seed, ending, faults, tookMs, resentBytes, facts } = result;
  if (what === "problems" && problems.length === 0) return;
  console.log(
    `${problems.length === 0 ? "ok  " : "FAIL"} ${result.class} ${direction} seed ${seed}: ${ending}, ${faults} faults, ${resentBytes} bytes again, ${tookMs} ms`,
  );
  for (const problem of problems) console.log(`  x ${problem}`);
  if (what === "all") console.log(`  ${JSON.stringify(facts)}`);
  else console.log(`  again: ${result.replay}`);
}
