import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { compileC } from "#e2e/link/compile-c.ts";
import { ROOT } from "#e2e/stage/start-process.ts";

/** One program to run. */
export interface Command {
  program: string;
  args: readonly string[];
  /** The whole environment: the program inherits nothing from this process. */
  env: Readonly<Record<string, string>>;
}

const costs = z.object({
  /** When it was started, by the machine's monotonic clock. */
  startedSeconds: z.number(),
  /** From before the start to after the end. */
  wallSeconds: z.number(),
  userSeconds: z.number(),
  systemSeconds: z.number(),
  /** Peak RSS of the largest process. */
  peakRssKib: z.number(),
  exit: z.number(),
});
export type Costs = z.infer<typeof costs>;

export interface MeasureOptions {
  /** Namespace file to run in, or null for this one. */
  netns: string | null;
  /** File that replaces /etc/resolv.conf for the program. */
  resolv?: string;
  /** Folder for the result. */
  scratch: string;
  limitMs: number;
  signal: AbortSignal;
}

/** Outcome of a run: `why` is null when it ended by itself with exit code 0. */
export interface Measured {
  costs: Costs | null;
  why: string | null;
}

const TAIL_CHARACTERS = 600;

/** Runs a program to its end and measures its whole process tree; kills it at the time limit. */
export async function measure(command: Command, options: MeasureOptions): Promise<Measured> {
  const program = await compileC("measure", join(import.meta.dirname, "measure.c"));
  const result = join(options.scratch, "costs.json");
  await rm(result, { force: true });
  // Starts a new process group, which is killed as a whole. Ctrl-C reaches the group only through this process.
  const child = spawn(
    program,
    [result, options.netns ?? "-", options.resolv ?? "-", command.program, ...command.args],
    {
      env: { ...command.env } as NodeJS.ProcessEnv,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    },
  );
  let tail = "";
  const collect = (chunk: Buffer): void => {
    tail = (tail + chunk.toString()).slice(-TAIL_CHARACTERS);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  let isLate = false;
  const kill = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  };
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, options.limitMs);
  options.signal.addEventListener("abort", kill, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", () => resolve());
    });
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", kill);
  }
  options.signal.throwIfAborted();
  if (isLate) return { costs: null, why: `not finished after ${Math.round(options.limitMs / 1000)} s` };
  // Results are published, so local paths are removed.
  const said = tail
    .replaceAll(`${ROOT}/`, "")
    .replaceAll(/\S*\/tidemark-bench-\d+\//g, "")
    .trim();
  const text = await readFile(result, "utf8").catch(() => null);
  if (text === null) return { costs: null, why: `it could not be run: ${said}` };
  const found = costs.parse(JSON.parse(text));
  return { costs: found, why: found.exit === 0 ? null : `exit code ${found.exit}: ${said}` };
}
