import { setTimeout as pause } from "node:timers/promises";
import { waitUntil } from "../../stage/wait-until.ts";
import { checkAll, checkLine, readWritten } from "./check-checkpoints.ts";
import { openPlace } from "./open-place.ts";
import { openBucket } from "./read-bucket.ts";
import { isAlive, startLife, type Life } from "./start-life.ts";

/**
 * Trains one run while its store is away for minutes: killed, so that it refuses connections, or frozen, so that it never
 * answers. Training must go on meanwhile, and what it saved must become complete afterwards without anybody's help.
 */

const KINDS = ["killed", "frozen"] as const;
type Kind = (typeof KINDS)[number];

const SEED = 13;
const WITHIN_MS = 180_000;

async function proveOne(kind: Kind, minutes: number): Promise<string[]> {
  const place = await openPlace(kind);
  const bucket = openBucket(place);
  const newestStep = async () => (await bucket.complete())[0]?.manifest.step ?? 0;
  const lives: Life[] = [];
  const start = async (machine: string) => {
    const life = await startLife(place, { machine, number: lives.length + 1, seed: SEED });
    lives.push(life);
    const begun = await waitUntil("the program begins", () => life.begun(), { withinMs: WITHIN_MS });
    return { life, ...begun };
  };
  const problems: string[] = [];
  try {
    const { life, pid } = await start("east");
    await waitUntil("a checkpoint is complete", async () => (await newestStep()) > 0, { withinMs: WITHIN_MS });
    const savedBefore = readWritten(place).at(-1)?.step ?? 0;
    if (kind === "killed") await place.store().stop("SIGKILL");
    else process.kill(place.store().pid, "SIGSTOP");
    await pause(minutes * 60_000);
    const saved = readWritten(place).at(-1)?.step ?? 0;
    // A step takes 60 ms and more; a tenth of that pace shows that training did not wait.
    if (saved - savedBefore < minutes * 100) problems.push(`it trained from ${savedBefore} to ${saved} only`);
    if (kind === "killed") await place.startAgain();
    else process.kill(place.store().pid, "SIGCONT");
    const backAt = performance.now();
    await waitUntil("what was saved is complete", async () => (await newestStep()) >= saved, { withinMs: WITHIN_MS });
    const tookMs = performance.now() - backAt;
    if (life.programEnd() !== null || !isAlive(pid)) problems.push(`the program ended: ${life.tail()}`);
    console.log(
      `    ${kind}: steps ${savedBefore} to ${saved} while it was away, complete ${Math.round(tookMs / 1000)} s after its return`,
    );
    await life.worker.stop();
    const newest = await newestStep();
    const next = await start("west");
    if (next.step !== newest) problems.push(`west resumed from ${next.step}, the newest is ${newest}`);
    await next.life.worker.stop();
    const { problems: wrong } = await checkAll(place, bucket);
    problems.push(...wrong, ...(await checkLine(place, bucket)));
  } catch (error) {
    problems.push(`${String(error)}: ${lives.at(-1)?.tail() ?? ""}`);
  } finally {
    await Promise.all(lives.map(({ worker }) => worker.stop("SIGKILL")));
    bucket.close();
    await place.close();
  }
  return problems;
}

/** Runs the proof and returns the number of failures. */
export async function proveAbsence(minutes: number): Promise<number> {
  const found = await Promise.all(KINDS.map((kind) => proveOne(kind, minutes)));
  for (const [at, kind] of KINDS.entries()) {
    const problems = found[at] ?? [];
    console.log(`  ${problems.length === 0 ? "✓" : "x"} a store that is ${kind} for ${minutes} minutes`);
    for (const problem of problems) console.log(`    ${problem}`);
  }
  return found.flat().length;
}
