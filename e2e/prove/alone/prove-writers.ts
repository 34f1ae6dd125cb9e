import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { LEASE_MS } from "#protocol/checkpoint/writer-lease.ts";
import { createRandom, type Random } from "../../faults/random.ts";
import { installServer } from "../../servers/install.ts";
import type { S3Server } from "../../servers/run-binary.ts";
import { startMinio } from "../../servers/start-minio.ts";
import { startVersitygw } from "../../servers/start-versitygw.ts";
import { ROOT } from "../../stage/start-process.ts";
import { waitUntil } from "../../stage/wait-until.ts";
import { checkAll, checkObjects } from "./check-checkpoints.ts";
import { openPlace } from "./open-place.ts";
import { openBucket, type BucketReader } from "./read-bucket.ts";
import { startLife, type Life, type Place } from "./start-life.ts";

/**
 * Two machines write one run at the same time, in rounds. Both start together; the one that writes is frozen until its lease
 * has ended, and wakes up while the other one writes. No checkpoint may mix files of both, and each machine that may not
 * write must be told who does.
 */

interface Contest {
  place: Place;
  /** Lets the lease of a silent writer end. */
  endLease(): Promise<void>;
  close(): Promise<void>;
}

interface Round extends Contest {
  bucket: BucketReader;
  random: Random;
  /** Keys of checkpoints that were checked. */
  checked: Set<string>;
  lives: number;
  takeovers: number;
  /** Rounds in which both programs began. */
  races: number;
}

const MACHINES = ["east", "west"] as const;
/** A lease of 60 s, three renewals of it, and a busy machine. */
const WITHIN_MS = 240_000;

async function embedded(flags: string[]): Promise<Contest> {
  const place = await openPlace("shared", flags);
  return {
    place,
    endLease: () => place.shiftClock(place.clockOffsetMs() + LEASE_MS + 1_000),
    close: place.close,
  };
}

function realServer(server: S3Server): Contest {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-prove-alone-"));
  return {
    place: { dir, address: () => ({ ...server, prefix: "runs", run: "shared" }), clockOffsetMs: () => 0 },
    endLease: () => pause(LEASE_MS + 1_000),
    close: async () => {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function versitygw(): Promise<Contest | string> {
  const tool = await installServer("versitygw");
  return "missing" in tool ? tool.missing : realServer(await startVersitygw(tool.program));
}

async function minio(): Promise<Contest | string> {
  // It takes minutes to build, so it is used only where it was built before.
  if (!existsSync(join(ROOT, ".tools/bin/minio"))) return "it was not built (npm run prove -- peers builds it)";
  const tool = await installServer("minio");
  return "missing" in tool ? tool.missing : realServer(await startMinio(tool.program));
}

/** Stores by name. A text says why a store cannot be used. */
const STORES: Readonly<Record<string, () => Promise<Contest | string>>> = {
  embedded: () => embedded([]),
  "embedded, conditions ignored": () => embedded(["--quirks", "ignore-conditions"]),
  versitygw,
  minio,
};

const isTold = (life: Life, by: Life): boolean =>
  life.hasSaid(`${by.machine} writes it`) || life.hasSaid(`${by.machine} writes it now`);

/** Starts a life on each machine, with a model of its own, so that files of two lives never have the same bytes. */
async function startBoth(round: Round): Promise<[Life, Life]> {
  const [first, second] = round.random.next() < 0.5 ? MACHINES : ([MACHINES[1], MACHINES[0]] as const);
  const start = (machine: string) => {
    const number = round.lives++;
    return startLife(round.place, { machine, number, seed: number });
  };
  const starting = start(first);
  // Half of the rounds begin in the same moment.
  if (round.random.next() < 0.5) await pause(round.random.next() * 1_500);
  return [await starting, await start(second)];
}

const completeOf = async (bucket: BucketReader, { machine }: Life): Promise<number> =>
  (await bucket.complete()).filter(({ manifest }) => manifest.node.name === machine).length;

/** Waits until this life has completed more checkpoints. */
async function waitForMore(round: Round, life: Life, more: number): Promise<void> {
  const before = await completeOf(round.bucket, life);
  const has = async () => (await completeOf(round.bucket, life)) >= before + more;
  await waitUntil(`${life.machine} completes ${more} checkpoints`, has, { withinMs: WITHIN_MS });
}

/** Returns the life that writes, once the other one was told so. */
async function waitForWriter([a, b]: readonly [Life, Life]): Promise<{ writer: Life; other: Life }> {
  return waitUntil(
    "one of both is told who writes",
    () => {
      if (a.begun() !== null && isTold(b, a)) return { writer: a, other: b };
      if (b.begun() !== null && isTold(a, b)) return { writer: b, other: a };
      return null;
    },
    { withinMs: WITHIN_MS },
  );
}

/** Sends a signal to a worker and its program. */
function signalLife(life: Life, signal: "SIGSTOP" | "SIGCONT"): void {
  const pid = life.begun()?.pid;
  for (const one of [life.worker.pid, ...(pid === undefined ? [] : [pid])]) process.kill(one, signal);
}

/** Runs one round. @throws Error when something does not happen in time */
async function runRound(round: Round): Promise<string[]> {
  const { place, bucket, random } = round;
  const both = await startBoth(round);
  try {
    const { writer, other } = await waitForWriter(both);
    await waitForMore(round, writer, 1);
    await pause(random.next() * 2_000);
    // Without conditional writes both may have begun in the same moment; the other one has stopped uploading by now.
    if (other.begun() !== null) {
      round.races += 1;
      return [];
    }
    signalLife(writer, "SIGSTOP");
    const epoch = (await bucket.complete())[0]?.manifest.writerEpoch ?? 0;
    await round.endLease();
    // The other one may have taken over by now, and have completed checkpoints of its own.
    const newest = (await bucket.complete()).find(({ manifest }) => manifest.writerEpoch <= epoch)?.manifest.step ?? 0;
    const begun = await waitUntil("the other one takes over", () => other.begun() ?? other.programEnd(), {
      withinMs: WITHIN_MS,
    });
    if (typeof begun === "string") return [`the program ended with ${begun} after the takeover: ${other.tail()}`];
    if (begun.step !== newest)
      return [`${other.machine} took over at step ${begun.step}, the newest is ${newest}: ${other.tail()}`];
    signalLife(writer, "SIGCONT");
    await waitUntil("the first one is told", () => writer.hasSaid(`${other.machine} writes it now`), {
      withinMs: WITHIN_MS,
    });
    await waitForMore(round, other, 2);
    round.takeovers += 1;
    return [];
  } catch (error) {
    return [`${String(error)}: ${both.map((life) => `${life.machine}: ${life.tail()}`).join(" // ")}`];
  } finally {
    const how = random.next() < 0.5 ? "SIGKILL" : "SIGTERM";
    await Promise.all(both.map(({ worker }) => worker.stop(how)));
    if (how === "SIGKILL" && random.next() < 0.5) await round.endLease();
    for (const checkpoint of await bucket.complete()) {
      if (round.checked.has(checkpoint.key)) continue;
      round.checked.add(checkpoint.key);
      const problem = await checkObjects(place, { bucket, checkpoint });
      if (problem !== null) console.log(`  x ${problem}`);
    }
  }
}

/** Returns the epochs in which both machines completed checkpoints, as sentences. */
async function findShared(bucket: BucketReader): Promise<string[]> {
  const byEpoch = Map.groupBy(await bucket.complete(), ({ manifest }) => manifest.writerEpoch);
  return [...byEpoch].flatMap(([epoch, all]) => {
    const names = new Set(all.map(({ manifest }) => manifest.node.name));
    return names.size === 1 ? [] : [`epoch ${epoch} has checkpoints of ${[...names].join(" and ")}`];
  });
}

async function proveOne(name: string, contest: Contest, about: { minutes: number; seed: number }): Promise<number> {
  const bucket = openBucket(contest.place);
  const random = createRandom(about.seed);
  const round: Round = { ...contest, bucket, random, checked: new Set(), lives: 1, takeovers: 0, races: 0 };
  const until = performance.now() + about.minutes * 60_000;
  let rounds = 0;
  const problems: string[] = [];
  try {
    while (performance.now() < until || rounds === 0) {
      rounds += 1;
      problems.push(...(await runRound(round)).map((problem) => `round ${rounds}: ${problem}`));
    }
    const { count, problems: wrong } = await checkAll(contest.place, bucket);
    problems.push(...wrong, ...(await findShared(bucket)));
    const epochs = (await bucket.claims()).length;
    console.log(
      `  ${problems.length === 0 ? "✓" : "x"} two writers, ${name}: ${rounds} rounds, ${round.takeovers} takeovers, ${round.races} races, ${count} checkpoints in ${epochs} epochs`,
    );
    for (const problem of problems) console.log(`    ${problem}`);
    return problems.length;
  } finally {
    bucket.close();
    await contest.close();
  }
}

/** Runs the proof over every store and returns the number of failures. `only`: names of stores; empty for all. */
export async function proveWriters(about: { minutes: number; seed: number; only: readonly string[] }): Promise<number> {
  let failed = 0;
  for (const [name, open] of Object.entries(STORES)) {
    if (about.only.length > 0 && !about.only.includes(name)) continue;
    const contest = await open();
    if (typeof contest === "string") console.log(`  two writers, ${name}: left out: ${contest}`);
    else failed += await proveOne(name, contest, about);
  }
  return failed;
}
