import { spawn } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { takeChildSeconds } from "./child-cpu.ts";

export const ROOT = join(import.meta.dirname, "../..");
/** True in CI, where nobody can retry and nothing may be skipped. */
export const inCi = process.env.CI === "true" || process.env.CI === "1";
const COMPILE_CACHE = join(ROOT, ".tools/compile-cache");
const bin = (name: string) => join(ROOT, "node_modules/.bin", name);

export interface Step {
  title: string;
  command: [string, ...string[]];
  env?: Record<string, string>;
}

export interface StepResult {
  title: string;
  ok: boolean;
  output: string;
  seconds: number;
  /** User and system time of all its processes; null where unknown. */
  cpuSeconds: number | null;
}

/** Runs one tool of `node_modules/.bin` (or an absolute program) and collects its output. */
export function runStep(step: Step): Promise<StepResult> {
  const started = performance.now();
  const [program, ...rest] = step.command;
  return new Promise((resolve) => {
    let output = "";
    let cpuSeconds: number | null = null;
    // Resets the counter, which includes children that are no steps.
    takeChildSeconds();
    const child = spawn(program.startsWith("/") ? program : bin(program), rest, {
      cwd: ROOT,
      // Tools start with `#!/usr/bin/env node`, which must be the project's Node.
      env: {
        ...process.env,
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`,
        // Tests start hundreds of programs from their sources. The cache saves a third of the CPU time.
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        FORCE_COLOR: "0",
        NO_COLOR: "1",
        ...step.env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    const end = (ok: boolean) =>
      resolve({ title: step.title, ok, output, seconds: (performance.now() - started) / 1000, cpuSeconds });
    child.on("exit", () => {
      cpuSeconds = takeChildSeconds();
    });
    child.on("error", (error) => {
      output += error.message;
      end(false);
    });
    child.on("close", (code) => end(code === 0));
  });
}

const LAST_LINES = 150;

interface Words {
  failures: readonly string[];
  unsteady: readonly string[];
}

/** Returns durations as text: "12.3 s, 20.1 s of CPU". */
export const took = ({ seconds, cpuSeconds }: Pick<StepResult, "seconds" | "cpuSeconds">): string =>
  `${seconds.toFixed(1)} s${cpuSeconds === null ? "" : `, ${cpuSeconds.toFixed(1)} s of CPU`}`;

/** Prints one line per step; for a failed step its failures and the end of its output. */
export function tell(result: StepResult, { failures, unsteady }: Words = { failures: [], unsteady: [] }): void {
  console.log(`${result.ok ? "ok  " : "FAIL"} ${result.title} (${took(result)})`);
  for (const story of unsteady) console.log(`  ! passed when it was tried again only: ${story}`);
  if (result.ok) return;
  for (const failure of failures) console.log(`  x ${failure}`);
  console.log(result.output.split("\n").slice(-LAST_LINES).join("\n"));
}
