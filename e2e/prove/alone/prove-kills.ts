import { setTimeout as pause } from "node:timers/promises";
import { LEASE_MS } from "#protocol/checkpoint/writer-lease.ts";
import { createRandom, type Random } from "../../faults/random.ts";
import { waitUntil } from "../../stage/wait-until.ts";
import { checkAll, checkLine, checkRestore, newestHere, readWritten } from "./check-checkpoints.ts";
import { openPlace, type StorePlace } from "./open-place.ts";
import { openBucket, type BucketReader } from "./read-bucket.ts";
import { isAlive, startLife, type Life } from "./start-life.ts";

/**
 * Trains one run over two machines and kills its program, its worker, both, or the store, again and again. After every kill
 * the run must resume from its newest complete checkpoint, and what is in the bucket must equal what was written.
 */

const WAYS = ["program", "worker", "both", "store"] as const;
type Way = (typeof WAYS)[number];

const MACHINES = ["east", "west"] as const;
const SEED = 7;
/** Share of starts on the other machine, and of kills before the program has begun. */
const MOVES = 0.3;
const EARLY = 0.15;
const MOST_RUN_MS = 2_500;
const MOST_AWAY_MS = 2_000;
const WITHIN_MS = 120_000;
/** The worker has to end a program that it leaves behind within this. */
const ORPHAN_MS = 30_000;

interface Killing {
  place: StorePlace;
  bucket: BucketReader;
  random: Random;
  /** Number of the next life. */
  lives: number;
  machine: string;
  /** The first life of each machine since it last opened an epoch. */
  since: Map<string, number>;
  /** The machine that was killed while it held the lease; null when the lease was given back. */
  leaseOf: string | null;
  lastRestored: string;
}

/** Returns the highest complete step. Training is one line, so a resume from any lower step has gone back. */
const newestStep = async (bucket: BucketReader): Promise<number> =>
  Math.max(0, ...(await bucket.complete()).map(({ manifest }) => manifest.step));

/** Returns the newest step on a machine's own disk that counts as the run's. */
const newestOn = ({ place, since }: Killing, machine: string): number =>
  newestHere(place, { machine, since: since.get(machine) ?? 0 });

/** Starts the next life, sometimes on the other machine. Returns it with the step from which it must resume. */
async function startNext(killing: Killing): Promise<{ life: Life; expected: number }> {
  const { place, bucket, random } = killing;
  const owner = (await bucket.claims()).at(-1)?.node.name;
  if (random.next() < MOVES) killing.machine = killing.machine === MACHINES[0] ? MACHINES[1] : MACHINES[0];
  const { machine } = killing;
  const number = killing.lives++;
  if (owner !== machine) killing.since.set(machine, number);
  if (killing.leaseOf !== null && killing.leaseOf !== machine)
    await place.shiftClock(place.clockOffsetMs() + LEASE_MS + 1_000);
  const expected = Math.max(await newestStep(bucket), newestOn(killing, machine));
  return { life: await startLife(place, { machine, number, seed: SEED }), expected };
}

/** Waits until the program has begun, and checks where. Returns the problem; null when there is none. */
async function checkBeginning(place: StorePlace, life: Life, expected: number): Promise<string | null> {
  await waitUntil("the program begins", () => life.begun() ?? life.programEnd(), { withinMs: WITHIN_MS });
  const begun = life.begun();
  if (begun === null) return `the program ended with ${life.programEnd()} at its start: ${life.tail()}`;
  if (begun.step !== expected)
    return `it resumed from step ${begun.step}, and the newest is ${expected}: ${life.tail()}`;
  const saved = readWritten(place).find(({ step }) => step === expected);
  if (saved !== undefined && saved.loss !== begun.loss)
    return `step ${expected} has loss ${begun.loss} after the restore, and had ${saved.loss}`;
  return null;
}

/** Kills the store, starts it again, and waits until the run has gone on by itself. */
async function killStore({ place, bucket, random }: Killing, life: Life): Promise<string | null> {
  const before = await newestStep(bucket);
  await pause(random.next() * 500);
  await place.store().stop("SIGKILL");
  await pause(random.next() * MOST_AWAY_MS);
  await place.startAgain();
  const pid = life.begun()?.pid;
  const isOver = () => life.programEnd() !== null;
  await waitUntil("a newer checkpoint is complete", async () => isOver() || (await newestStep(bucket)) > before, {
    withinMs: WITHIN_MS,
  });
  if (isOver() || (pid !== undefined && !isAlive(pid))) return `the program did not survive: ${life.tail()}`;
  await life.worker.stop();
  return null;
}

/** Kills in one way and waits until nothing of the life is left. Returns the problem; null when there is none. */
async function kill(killing: Killing, life: Life, way: Way): Promise<string | null> {
  const pid = life.begun()?.pid ?? null;
  killing.leaseOf = way === "worker" || way === "both" ? life.machine : null;
  switch (way) {
    case "store":
      return killStore(killing, life);
    case "both":
      await life.worker.stop("SIGKILL");
      return null;
    case "worker": {
      process.kill(life.worker.pid, "SIGKILL");
      await life.worker.exited;
      if (pid === null) return null;
      const isGone = () => !isAlive(pid);
      await waitUntil("the program ends", isGone, { withinMs: ORPHAN_MS });
      return null;
    }
    case "program": {
      if (pid === null) return "the program had not begun";
      process.kill(pid, "SIGKILL");
      const { code } = await life.worker.exited;
      if (code !== 137) return `the worker ended with ${code} instead of 137: ${life.tail()}`;
      const here = newestOn(killing, life.machine);
      const there = await newestStep(killing.bucket);
      return there < here ? `step ${here} is not in the bucket; the newest there is ${there}: ${life.tail()}` : null;
    }
  }
}

/** Runs one life and kills it. Returns the problems. */
async function killOnce(killing: Killing, way: Way): Promise<string[]> {
  const { place, bucket, random } = killing;
  const { life, expected } = await startNext(killing);
  const problems: string[] = [];
  const note = (problem: string | null) => {
    if (problem !== null) problems.push(`life ${life.number} on ${life.machine}: ${problem}`);
  };
  try {
    const isEarly = (way === "worker" || way === "both") && random.next() < EARLY;
    if (!isEarly) note(await checkBeginning(place, life, expected));
    await pause(random.next() * MOST_RUN_MS);
    if (problems.length === 0) note(await kill(killing, life, way));
  } catch (error) {
    note(`${String(error)}: ${life.tail()}`);
  } finally {
    await life.worker.stop("SIGKILL");
  }
  // The store may still be busy with the last request of a killed worker.
  await pause(300);
  const [newest] = await bucket.complete();
  if (newest !== undefined && newest.key !== killing.lastRestored) {
    killing.lastRestored = newest.key;
    note(await checkRestore(place, { step: newest.manifest.step }));
  }
  return problems;
}

/** Runs the proof and returns the number of failures. `only`: ways to kill; empty for all. */
export async function proveKills(about: { count: number; seed: number; only: readonly string[] }): Promise<number> {
  const place = await openPlace("killed");
  const bucket = openBucket(place);
  const state = { lives: 1, machine: MACHINES[0], since: new Map<string, number>(), leaseOf: null, lastRestored: "" };
  const killing: Killing = { ...state, place, bucket, random: createRandom(about.seed) };
  const ways = WAYS.filter((way) => about.only.length === 0 || about.only.includes(way));
  const failed = new Map<Way, number>(ways.map((way) => [way, 0]));
  try {
    for (let nth = 0; nth < about.count; nth++) {
      for (const way of ways) {
        const problems = await killOnce(killing, way);
        for (const problem of problems) console.log(`  x kill of the ${way}: ${problem}`);
        if (problems.length > 0) failed.set(way, (failed.get(way) ?? 0) + 1);
      }
    }
    for (const [way, count] of failed)
      console.log(`  ${count === 0 ? "✓" : "x"} kills, ${way}: ${about.count - count} of ${about.count}`);
    const { count, problems } = await checkAll(place, bucket);
    problems.push(...(await checkLine(place, bucket)));
    for (const problem of problems) console.log(`  x ${problem}`);
    const epochs = (await bucket.claims()).length;
    const last = await newestStep(bucket);
    console.log(
      `  ${problems.length === 0 ? "✓" : "x"} ${count} checkpoints in ${epochs} epochs up to step ${last}: all as written, in one line`,
    );
    return [...failed.values()].reduce((sum, one) => sum + one, problems.length);
  } finally {
    bucket.close();
    await place.close();
  }
}
