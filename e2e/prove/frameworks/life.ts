import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { waitUntil } from "../../stage/wait-until.ts";
import type { Case } from "./case.ts";
import { CACHE, HERE, PYTHON, PYTHON_ENV } from "./environment.ts";

/** One execution of a training program ("life"): its command, and its journal outside of the watched folder. */

/** Journal of one execution. */
export interface Journal {
  /** Step from which it resumed; null before that. */
  begins: number | null;
  losses: ReadonlyMap<number, number>;
  /** A checksum-like number of the final model; null before the end. */
  final: number | null;
  /** Step at which it waits to be killed or released; null before that. */
  holds: number | null;
}

export interface Life {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  read(): Journal;
  /** Releases an execution that waits at its beginning. */
  release(): void;
  /** Lets a waiting execution train on to another step. */
  goOnTo(step: number): void;
}

interface LifeOptions {
  readonly one: Case;
  /** Folder of the program. */
  readonly root: string;
  /** Journal file of this execution alone. */
  readonly journal: string;
  /** Step after which it waits to be killed; null trains to the end. */
  readonly until: number | null;
  /** Whether it waits before its first step, so that its folder can be examined. */
  readonly stopsAt: "beginning" | null;
  /** Checkpoint to resume from, for programs that get it from nowhere else. */
  readonly resumePath?: string;
}

/** Prepares an execution without starting it. */
export function prepareLife({ one, root, journal, until, stopsAt, resumePath }: LifeOptions): Life {
  const beside = join(CACHE, "beside", one.name);
  for (const folder of [dirname(journal), dirname(beside)]) mkdirSync(folder, { recursive: true });
  if (one.script.startsWith("ultralytics")) mkdirSync(beside, { recursive: true });
  rmSync(journal, { force: true });
  if (until !== null) writeFileSync(`${journal}.until`, String(until));
  if (stopsAt !== null) writeFileSync(`${journal}.wait`, "");
  const script = join(HERE, "programs", one.script);
  const args = [script, root, ...one.args.map((arg) => (arg === "BESIDE" ? beside : arg))];
  const torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", String(one.processes)];
  return {
    command: [PYTHON, ...(one.processes === undefined ? [] : torchrun), ...args],
    env: {
      ...PYTHON_ENV,
      JOURNAL: journal,
      ...(resumePath !== undefined && { TIDEMARK_RESUME_PATH: resumePath }),
    },
    read: () => readJournal(journal),
    release: () => rmSync(`${journal}.wait`, { force: true }),
    goOnTo: (step) => {
      // Written by rename, so that the program never reads half a number.
      writeFileSync(`${journal}.next`, String(step));
      renameSync(`${journal}.next`, `${journal}.until`);
    },
  };
}

interface Line {
  begins?: number;
  step?: number;
  loss?: number;
  final?: number;
  holds?: number;
}

function readJournal(path: string): Journal {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const lines = text
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Line);
  const losses = new Map<number, number>();
  for (const { step, loss } of lines) if (step !== undefined && loss !== undefined) losses.set(step, loss);
  return {
    begins: lines.find(({ begins }) => begins !== undefined)?.begins ?? null,
    losses,
    final: lines.find(({ final }) => final !== undefined)?.final ?? null,
    holds: lines.findLast(({ holds }) => holds !== undefined)?.holds ?? null,
  };
}

/** Kills remaining processes of an execution (torchrun's workers outlive it). Resolves when none is running. */
export async function endLife(life: Life): Promise<void> {
  const mark = `JOURNAL=${life.env["JOURNAL"] ?? ""}\0`;
  const left = () =>
    readdirSync("/proc").filter((pid) => {
      try {
        return /^\d+$/.test(pid) && `${readFileSync(`/proc/${pid}/environ`, "latin1")}\0`.includes(mark);
      } catch {
        return false;
      }
    });
  await waitUntil("the processes of a life are gone", () => {
    const pids = left();
    for (const pid of pids) {
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // The process has just ended.
      }
    }
    return pids.length === 0;
  });
}
