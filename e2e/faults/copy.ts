import { type ChildProcess, spawn } from "node:child_process";
import { FAULTS, type FaultCode } from "#protocol/faults/fault-table.ts";
import { ROOT } from "../stage/start-process.ts";

/** One life of `tidemark cp`, started as a person starts it. */
export interface Copy {
  readonly pid: number;
  readonly startedAt: number;
  /** Objects of `--json`, as they come. */
  readonly said: readonly Record<string, unknown>[];
  kill(signal: "SIGKILL" | "SIGINT" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void;
  readonly ended: Promise<Ending>;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The fault it ended with; null after a success, or when it said none. */
  readonly fault: FaultCode | null;
  /** Of many files: those that failed, when the others did not (exit 8). */
  readonly failed: readonly { name: string; fault: FaultCode | null }[];
  /** What it said of the fault, for a person. */
  readonly sentence: string | null;
  readonly retries: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

export interface CopyOptions {
  /** The program: `worker/main.ts`, a bundle of it, or the executable, which takes no flags of Node. */
  readonly program: string;
  /** By name, without the dashes. */
  readonly flags: Readonly<Record<string, string | number>>;
  readonly more?: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly env: Readonly<Record<string, string>>;
  /** Flags of Node itself. */
  readonly nodeFlags?: readonly string[];
  /** A program to run it under, with its arguments: `nsenter ...`. */
  readonly under?: readonly string[];
}

const argsOf = ({ flags, more = [], from, to }: CopyOptions): string[] => [
  ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]),
  ...more,
  from,
  to,
];

const running = new Set<ChildProcess>();

/** Ends all that run, for whoever leaves in the middle of trials. */
export function killCopies(): void {
  for (const child of running) child.kill("SIGKILL");
}

export function startCopy(options: CopyOptions): Copy {
  const { under = [], nodeFlags = [], program } = options;
  const command = [...under, ...(/\.m?[jt]s$/.test(program) ? [process.execPath, ...nodeFlags] : []), program];
  const child = spawn(command[0] ?? process.execPath, [...command.slice(1), "cp", "--json", ...argsOf(options)], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", NO_COLOR: "1", NODE_ENV: "production", ...options.env },
  });
  running.add(child);
  child.once("close", () => running.delete(child));
  const startedAt = performance.now();
  const said: Record<string, unknown>[] = [];
  let stdout = "";
  let stderr = "";
  let rest = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) said.push(readLine(line));
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<Ending>((resolve) => {
    child.on("error", (error) => {
      stderr += error.message;
    });
    child.on("close", (code, signal) => {
      const last = said.findLast(({ type }) => type === "fault");
      const done = said.findLast(({ type }) => type === "done");
      resolve({
        code,
        signal,
        fault: isCode(last?.["code"]) ? last["code"] : null,
        failed: said.filter(({ type }) => type === "failed").map(readFailure),
        sentence: typeof last?.["sentence"] === "string" ? last["sentence"] : null,
        retries: typeof done?.["retries"] === "number" ? done["retries"] : 0,
        stdout,
        stderr,
        tookMs: performance.now() - startedAt,
      });
    });
  });
  return {
    pid: child.pid ?? 0,
    startedAt,
    said,
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

const isCode = (value: unknown): value is FaultCode => typeof value === "string" && Object.hasOwn(FAULTS, value);

function readFailure({ name, fault }: Record<string, unknown>): { name: string; fault: FaultCode | null } {
  const code = typeof fault === "object" && fault !== null && "code" in fault ? fault.code : null;
  return { name: String(name), fault: isCode(code) ? code : null };
}

function readLine(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // Not an object: the judge compares all of stdout, and will say so.
  }
  return { type: "not-json", line };
}
