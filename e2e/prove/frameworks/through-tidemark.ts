import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Stage } from "../../stage/open-stage.ts";
import type { RunningProcess } from "../../stage/start-process.ts";
import { waitUntil } from "../../stage/wait-until.ts";
import type { Case } from "./case.ts";
import { type Control, joinLives } from "./control.ts";
import { type Folder, readFolder } from "./folders.ts";
import { findDifference, judgeEnd, judgeRestored } from "./judge.ts";
import { describeRows, isNewestSafe, lastWrite, rowsOf, waitUntilSafe } from "./wait-until-safe.ts";
import { endLife, type Journal, type Life, prepareLife } from "./life.ts";

/**
 * Trains under `tidemark run` over three nodes that share only hub and bucket. Each has an empty folder at the same path and
 * its own state folder. Program and worker are killed with SIGKILL once the newest checkpoint is safe.
 */

const LONG_MS = 300_000;
/** Longer than a checkpoint needs to settle and upload here. */
const PATIENCE = { withinMs: 25_000, quietMs: 4_000 };

const said = (worker: RunningProcess): string => worker.lines.join("\n");

/** Returns the worker's messages about captures and restores, without the program's output. */
function wordsOf(worker: RunningProcess): string {
  const lines = worker.lines.filter((line) =>
    /goes on|Captured|left alone|no checkpoint|not safe|safe up to|aside|holds|nothing of it|Restor|elsewhere|took/.test(
      line,
    ),
  );
  return lines.slice(-8).join(" / ").slice(0, 1_200);
}

export interface Outcome {
  readonly problems: readonly string[];
  /** Result of comparing the losses. */
  readonly losses: string;
}

interface Trial {
  stage: Stage;
  one: Case;
  /** Whether no folder is named, so that the working folder is watched. */
  isHere: boolean;
  control: Control;
  root: string;
  /** Folders of the killed nodes. */
  before: Folder[];
  lives: Journal[];
  problems: string[];
}

/** Runs one execution on a node of its own. Returns whether continuing makes sense. */
async function liveOnNode(trial: Trial, at: number): Promise<boolean> {
  const { stage, one, root, before, problems } = trial;
  const watched = join(root, one.watch);
  // Only the program's folder is made. A framework that finds its own folder would start a new one beside it.
  mkdirSync(root, { recursive: true });
  const until = one.kills[at] ?? null;
  const pause = at === 0 ? (one.pauseAt ?? null) : null;
  const journal = join(stage.dir, "journals", `${one.name}-${at + 1}`);
  const life = prepareLife({ one, root, journal, until: pause ?? until, stopsAt: at === 0 ? null : "beginning" });
  const worker = await stage.startNode({
    name: `${one.name}-${at + 1}`,
    run: one.name,
    watch: watched,
    ...(trial.isHere && { isThere: true as const }),
    program: life.command,
    env: { ...life.env },
  });
  let hasEnded = false;
  void worker.exited.then(() => (hasEnded = true));
  try {
    if (at > 0) {
      await waitUntil("the program begins", () => life.read().begins !== null || hasEnded, { withinMs: LONG_MS });
      const previous = before[at - 1] ?? new Map();
      const now = readFolder(watched);
      const found = judgeRestored(one, previous, now);
      problems.push(...found.map((problem) => `node ${at + 1}: ${problem}`));
      judgeBeginning(trial, { at, life, now, worker });
      life.release();
    }
    if (pause !== null && until !== null) {
      await waitUntil("the program pauses", () => life.read().holds !== null || hasEnded, { withinMs: LONG_MS });
      await waitUntilSafe(stage, one, { watched, ...PATIENCE });
      life.goOnTo(until);
    }
    return until === null ? await end(trial, { life, worker }) : await kill(trial, { at, life, worker });
  } finally {
    await worker.stop("SIGKILL");
    await endLife(life);
    trial.lives.push(life.read());
  }
}

function judgeBeginning(
  { one, control, problems }: Trial,
  { at, life, now, worker }: { at: number; life: Life; now: Folder; worker: RunningProcess },
): void {
  const wanted = control.begins[at - 1] ?? 0;
  const { begins } = life.read();
  const there = now.size === 0 ? "an empty folder" : [...now.keys()].slice(0, 8).join(", ");
  if (one.elsewhere !== undefined) {
    if (begins === 0) problems.push(`node ${at + 1}: starts from 0, found ${there}`);
    if (!one.elsewhere.test(said(worker)))
      problems.push(`node ${at + 1}: nobody says that the program writes elsewhere`);
    return;
  }
  if (begins === wanted) return;
  const where = begins === null ? "does not start" : `starts from ${begins}`;
  problems.push(`node ${at + 1}: ${where} instead of ${wanted}, found ${there}. Said: ${wordsOf(worker)}`);
}

async function kill(
  { stage, one, root, before, problems }: Trial,
  { at, life, worker }: { at: number; life: Life; worker: RunningProcess },
): Promise<boolean> {
  let hasEnded = false;
  void worker.exited.then(() => (hasEnded = true));
  const hasCome = () => (life.read().holds ?? -1) >= (one.kills[at] ?? 0);
  await waitUntil("the program waits for its kill", () => hasCome() || hasEnded, { withinMs: LONG_MS });
  if (!hasCome()) {
    problems.push(`node ${at + 1}: the program ended: ${worker.lines.slice(-6).join(" / ").slice(0, 1_200)}`);
    return false;
  }
  const watched = join(root, one.watch);
  const kept = await waitUntilSafe(stage, one, { watched, ...PATIENCE });
  if (kept !== null && one.elsewhere === undefined)
    problems.push(`node ${at + 1}: its newest is not safe; the hub has ${kept}. Said: ${wordsOf(worker)}`);
  await worker.stop("SIGKILL");
  await endLife(life);
  before.push(readFolder(watched));
  renameSync(root, `${root}-${at + 1}`);
  return kept !== "nothing";
}

async function end(
  { stage, one, root, before, control, problems }: Trial,
  { life, worker }: { life: Life; worker: RunningProcess },
): Promise<boolean> {
  const watched = join(root, one.watch);
  await waitUntil("the program ends", () => life.read().final !== null, { withinMs: LONG_MS });
  const { code } = await worker.exited;
  if (code !== 0)
    problems.push(`the last life ended with ${code}: ${worker.lines.slice(-6).join(" / ").slice(0, 1_200)}`);
  const found = readFolder(watched);
  if (one.elsewhere === undefined)
    problems.push(...judgeEnd(one, control.left, { found, restored: before.at(-1) ?? new Map() }));
  const written = lastWrite(one, found);
  const rows = await rowsOf(stage, one);
  if (!isNewestSafe(rows, written))
    problems.push(
      `what it wrote last is not safe after its end; the hub has ${describeRows(rows)}. Said: ${wordsOf(worker)}`,
    );
  return true;
}

/** Trains over three nodes and compares the result with the trainings without Tidemark. */
export async function trainThrough(
  stage: Stage,
  { one, isHere }: Pick<Trial, "one" | "isHere">,
  control: Control,
): Promise<Outcome> {
  const root = join(stage.dir, "work", one.name);
  const trial: Trial = { stage, one, isHere, control, root, before: [], lives: [], problems: [] };
  for (let at = 0; at < 3; at++) {
    try {
      if (!(await liveOnNode(trial, at))) return { problems: trial.problems, losses: "not compared" };
    } catch (error) {
      trial.problems.push(`node ${at + 1}: ${error instanceof Error ? error.message : String(error)}`);
      return { problems: trial.problems, losses: "not compared" };
    }
  }
  if (one.elsewhere !== undefined) return { problems: trial.problems, losses: "not compared: it goes on elsewhere" };
  const through = joinLives(trial.lives);
  const difference = findDifference(control.whole, through);
  if (difference === null) return { problems: trial.problems, losses: "equal to an uninterrupted training's" };
  const own = findDifference(control.whole, control.killed);
  if (own !== null && findDifference(control.killed, through) === null)
    return {
      problems: trial.problems,
      losses:
        "equal to those of the same kills on one disk; the framework itself does not repeat an uninterrupted training",
    };
  return { problems: [...trial.problems, difference], losses: difference };
}
