import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { waitUntil } from "../../stage/wait-until.ts";
import type { Case } from "./case.ts";
import { CACHE, HERE, PYTHON, PYTHON_ENV } from "./environment.ts";

/** One start of a training program: how it is called, and what it writes about itself outside the watched folder. */

/** What a program wrote of one life. */
export interface Journal {
  /** The step it went on from; null: it did not come so far. */
  begins: number | null;
  losses: ReadonlyMap<number, number>;
  /** One number of the model at its end; null before. */
  final: number | null;
  /** Where it waits to be killed or let on; null: it has not come so far. */
  holds: number | null;
}

export interface Life {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  read(): Journal;
  /** Lets a life that stopped at its beginning go on. */
  release(): void;
  /** Lets a life that waits train on to another step. */
  goOnTo(step: number): void;
}

interface LifeOptions {
  readonly one: Case;
  /** The folder of the program. */
  readonly root: string;
  /** A file of this life alone. */
  readonly journal: string;
  /** Waits after this step to be killed; null: trains to its end. */
  readonly until: number | null;
  /** Where it waits to be looked at before its first step. */
  readonly stopsAt: "beginning" | null;
  /** The checkpoint that the program is told to go on from, where nothing else tells it. */
  readonly resumePath?: string;
}

/** Prepares a life; nothing is started. */
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
      // The program never reads half a number.
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

/** Kills what a life left behind (torchrun's processes outlive it) and resolves when nothing of it runs. */
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
        // It has just ended.
      }
    }
    return pids.length === 0;
  });
}
