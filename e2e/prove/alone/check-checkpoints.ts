import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { keysInEnv } from "../../stage/keys-in-env.ts";
import { runOnce } from "../../stage/run-once.ts";
import { testedWorker } from "../../stage/start-worker.ts";
import { hashFolder } from "../../stage/write-checkpoint.ts";
import type { BucketReader, Complete } from "./read-bucket.ts";
import { folderOf, logOf, toOf, type Place } from "./start-life.ts";

/** Compares checkpoints in a bucket with what the training program noted before it wrote them. */

/** A line of the program's log. */
export interface Written {
  step: number;
  life: number;
  loss: number;
  /** SHA-256 of every file, by name. */
  files: Record<string, string>;
}

/** Returns what the program wrote, oldest first. A line that a kill cut off is left out. */
export function readWritten(place: Place): Written[] {
  const path = logOf(place);
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Written];
      } catch {
        return [];
      }
    });
}

/** Returns why these files are no checkpoint of this step that the program wrote; null when they are one. */
function whyForeign(files: Record<string, string>, { step, written }: { step: number; written: readonly Written[] }) {
  const ofStep = written.filter((one) => one.step === step);
  if (ofStep.some((one) => isDeepStrictEqual(one.files, files))) return null;
  const names = Object.keys(files);
  const lives = names.map((name) => written.find((one) => one.files[name] === files[name])?.life ?? "nobody");
  const who = names.map((name, at) => `${name} by ${lives[at]}`).join(", ");
  const isMixed = new Set(lives).size > 1 && !lives.includes("nobody");
  return isMixed ? `it mixes files of several lives (${who})` : `it is not what was written (${who})`;
}

/** Returns the highest step of a whole checkpoint in a machine's folder that a life from `since` on wrote; 0 without any. */
export function newestHere(place: Place, { machine, since }: { machine: string; since: number }): number {
  const folder = folderOf(place, machine);
  const written = readWritten(place).filter(({ life }) => life >= since);
  const steps = readdirSync(folder).flatMap((name) => {
    const step = Number(/^checkpoint-(\d+)$/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(step)) return [];
    return whyForeign(hashFolder(join(folder, name)), { step, written }) === null ? [step] : [];
  });
  return Math.max(0, ...steps);
}

/** Reads the objects of a checkpoint and compares them. Returns the problem; null when there is none. */
export async function checkObjects(
  place: Place,
  { bucket, checkpoint }: { bucket: BucketReader; checkpoint: Complete },
): Promise<string | null> {
  const { step, writerEpoch } = checkpoint.manifest;
  const why = whyForeign(await bucket.hash(checkpoint), { step, written: readWritten(place) });
  return why === null ? null : `objects of step ${step} in epoch ${writerEpoch}: ${why}`;
}

/** Restores a step into a new folder with `tidemark restore` and compares it. Returns the problem; null when there is none. */
export async function checkRestore(place: Place, { step, lane = 0 }: { step: number; lane?: number }) {
  const target = join(place.dir, "restored", `${lane}-${step}`);
  const { run } = place.address();
  const { code, stdout, stderr } = await runOnce(
    testedWorker(),
    ["restore", `${run}@${step}`, target, "--to", toOf(place)],
    { env: { ...keysInEnv(place.address()), TIDEMARK_STATE: join(place.dir, "laptops", String(lane)) } },
  );
  try {
    if (code !== 0) return `restore of step ${step} ended with ${code}: ${stderr.trim().split("\n").at(-1) ?? ""}`;
    if (stdout.includes("is damaged")) return `restore of step ${step}: ${stdout.trim()}`;
    const why = whyForeign(hashFolder(target), { step, written: readWritten(place) });
    return why === null ? null : `${basename(target)}: ${why}`;
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

const LANES = 2;

/** Checks every complete checkpoint: its objects, and for every step a restore. Returns the problems. */
export async function checkAll(place: Place, bucket: BucketReader): Promise<{ count: number; problems: string[] }> {
  const all = await bucket.complete();
  const problems: string[] = [];
  const note = (problem: string | null) => {
    if (problem !== null) problems.push(problem);
  };
  for (const checkpoint of all) note(await checkObjects(place, { bucket, checkpoint }));
  const steps = [...new Set(all.map(({ manifest }) => manifest.step))];
  const work = async (lane: number) => {
    for (let step = steps.pop(); step !== undefined; step = steps.pop())
      note(await checkRestore(place, { step, lane }));
  };
  await Promise.all(Array.from({ length: LANES }, (_, lane) => work(lane)));
  return { count: all.length, problems };
}

/**
 * Checks that the steps of a run are in one line: every epoch starts from the newest checkpoint before it, steps rise within an
 * epoch, and no two checkpoints of one step differ. Returns the problems.
 */
export async function checkLine(place: Place, bucket: BucketReader): Promise<string[]> {
  const problems: string[] = [];
  const all = (await bucket.complete()).toReversed().map(({ manifest }) => manifest);
  for (const { epoch, parent } of await bucket.claims()) {
    const before = all.filter(({ writerEpoch }) => writerEpoch < epoch).at(-1);
    const [from, newest] = [parent, before === undefined ? null : { epoch: before.writerEpoch, step: before.step }];
    if (!isDeepStrictEqual(from, newest))
      problems.push(`epoch ${epoch} starts from ${JSON.stringify(from)} and not from ${JSON.stringify(newest)}`);
    const own = all.filter(({ writerEpoch }) => writerEpoch === epoch);
    for (const [at, one] of own.entries()) {
      const last = own[at - 1];
      // A commit whose answer was lost is repeated under another attempt.
      if (last !== undefined && one.step === last.step && one.id !== last.id)
        problems.push(`step ${one.step} is twice in epoch ${epoch}`);
      if (from !== null && one.step <= from.step)
        problems.push(`epoch ${epoch} has step ${one.step}, and starts from step ${from.step}`);
    }
  }
  const first = new Map<number, Written>();
  for (const one of readWritten(place)) {
    const other = first.get(one.step) ?? one;
    first.set(one.step, other);
    if (!isDeepStrictEqual(other.files, one.files))
      problems.push(`step ${one.step} of life ${one.life} differs from that of life ${other.life}`);
  }
  return problems;
}
