import { setTimeout as pause } from "node:timers/promises";
import { waitUntil } from "../../stage/wait-until.ts";
import { checkAll, checkLine } from "./check-checkpoints.ts";
import { openPlace, type StorePlace } from "./open-place.ts";
import { openBucket, type BucketReader } from "./read-bucket.ts";
import { startLife, type Life } from "./start-life.ts";

/**
 * Trains one run while the clocks of its nodes are two hours off those of the store, in both directions, at a start and while
 * they train. Checkpoints must become complete by themselves, and a lease must last as long as with right clocks.
 */

const HOURS = 3_600_000;
const SEED = 11;
const WITHIN_MS = 180_000;
/** A lease of 60 s, and what a busy machine needs. */
const LEASE_WITHIN_MS = 120_000;
/** The lease of a killed writer is never shorter than this, by the clock of this machine. */
const LEASE_LEAST_MS = 35_000;

interface Clocked {
  place: StorePlace;
  bucket: BucketReader;
  lives: Life[];
}

const newestStep = async ({ bucket }: Clocked): Promise<number> => (await bucket.complete())[0]?.manifest.step ?? 0;

async function waitForMore(clocked: Clocked, life: Life): Promise<void> {
  for (let more = 0; more < 2; more++) {
    const before = await newestStep(clocked);
    const has = async () => life.programEnd() !== null || (await newestStep(clocked)) > before;
    await waitUntil(`${life.machine} goes on`, has, { withinMs: WITHIN_MS });
    if (life.programEnd() !== null) throw new Error(`the program ended with ${life.programEnd()}: ${life.tail()}`);
  }
}

async function begin({ place, lives }: Clocked, machine: string): Promise<Life> {
  const life = await startLife(place, { machine, number: lives.length + 1, seed: SEED });
  lives.push(life);
  return life;
}

async function startAt(clocked: Clocked, machine: string): Promise<Life> {
  const newest = await newestStep(clocked);
  const life = await begin(clocked, machine);
  const begun = await waitUntil("the program begins", () => life.begun(), { withinMs: WITHIN_MS });
  if (begun.step !== newest) throw new Error(`it resumed from ${begun.step}, the newest is ${newest}: ${life.tail()}`);
  return life;
}

/** Kills the writer and lets the other machine take the run over. Returns its life. */
async function takeOver(clocked: Clocked, writer: Life, machine: string): Promise<Life> {
  const other = await begin(clocked, machine);
  const isTold = () => other.hasSaid(`${writer.machine} writes it`);
  await waitUntil("it is told who writes", isTold, { withinMs: WITHIN_MS });
  await waitForMore(clocked, writer);
  await writer.worker.stop("SIGKILL");
  const killedAt = performance.now();
  await pause(300);
  const newest = await newestStep(clocked);
  const begun = await waitUntil("it takes the run over", () => other.begun(), { withinMs: LEASE_WITHIN_MS });
  const tookMs = performance.now() - killedAt;
  if (tookMs < LEASE_LEAST_MS) throw new Error(`it took the run over after ${Math.round(tookMs / 1000)} s already`);
  if (begun.step !== newest) throw new Error(`it resumed from ${begun.step}, the newest is ${newest}: ${other.tail()}`);
  return other;
}

type Course = (clocked: Clocked) => Promise<void>;

/**
 * Courses by what they show. The store's clock only goes forward: the embedded store refuses to write over an object that is
 * newer than its own clock.
 */
const COURSES: Readonly<Record<string, Course>> = {
  "nodes ahead, then right, then behind": async (clocked) => {
    const { place } = clocked;
    await place.shiftClock(-2 * HOURS);
    const first = await startAt(clocked, "first");
    await waitForMore(clocked, first);
    const second = await takeOver(clocked, first, "second");
    await waitForMore(clocked, second);
    await place.shiftClock(0);
    await waitForMore(clocked, second);
    await place.shiftClock(2 * HOURS);
    await waitForMore(clocked, second);
    const third = await takeOver(clocked, second, "third");
    await waitForMore(clocked, third);
    await third.worker.stop();
    await waitForMore(clocked, await startAt(clocked, "fourth"));
  },
  "nodes behind from the first start": async (clocked) => {
    await clocked.place.shiftClock(2 * HOURS);
    const first = await startAt(clocked, "first");
    await waitForMore(clocked, first);
    await first.worker.stop();
    await waitForMore(clocked, await startAt(clocked, "second"));
  },
};

async function proveCourse(name: string, course: Course): Promise<number> {
  const place = await openPlace("clocked");
  const bucket = openBucket(place);
  const clocked: Clocked = { place, bucket, lives: [] };
  const problems: string[] = [];
  try {
    await course(clocked);
  } catch (error) {
    problems.push(`${String(error)}: ${clocked.lives.at(-1)?.tail() ?? ""}`);
  } finally {
    await Promise.all(clocked.lives.map(({ worker }) => worker.stop("SIGKILL")));
  }
  try {
    const { count, problems: wrong } = await checkAll(place, bucket);
    problems.push(...wrong, ...(await checkLine(place, bucket)));
    console.log(`  ${problems.length === 0 ? "✓" : "x"} clocks two hours off, ${name}: ${count} checkpoints`);
    for (const problem of problems) console.log(`    ${problem}`);
    return problems.length;
  } finally {
    bucket.close();
    await place.close();
  }
}

/** Runs the proof and returns the number of failures. */
export async function proveClock(): Promise<number> {
  let failed = 0;
  for (const [name, course] of Object.entries(COURSES)) failed += await proveCourse(name, course);
  return failed;
}
