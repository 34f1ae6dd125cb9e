import { type ChildProcess, spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { descendantsOf, stillRunning } from "../gate/process-tree.ts";

export const ROOT = join(import.meta.dirname, "../..");

/** Returns the command that starts an entry: a script by this Node, and any other program by itself. */
export function commandOf(entry: string): [program: string, ...before: string[]] {
  const path = resolve(ROOT, entry);
  return /\.m?[jt]s$/.test(entry) ? [process.execPath, path] : [path];
}

/** Returns the command of an entry as words of a shell. */
export const inShell = (entry: string): string =>
  commandOf(entry)
    .map((word) => `'${word}'`)
    .join(" ");

export interface StartOptions {
  /** Name in errors and logs: `hub`, `worker gpu-1`. */
  title: string;
  /** Script, relative to the repository, or a program that needs no Node. */
  entry: string;
  args?: string[];
  /** Working folder; default: the repository. */
  cwd?: string;
  /** Wrapper program with its arguments: `nsenter ...`. */
  under?: readonly string[];
  env?: Record<string, string>;
  /** Called with lines of stdout. The first result other than null resolves the start. */
  readReady?: (line: string) => string | null;
  /** Default: 10 minutes. */
  readyWithinMs?: number;
  /** Called with every line of both streams. */
  onLine?: (line: string, stream: "stdout" | "stderr") => void;
}

export interface RunningProcess {
  /** Result of `readReady`. */
  ready: string;
  pid: number;
  /** All lines so far, of both streams. */
  lines: readonly string[];
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Ends the process and all its descendants; default SIGTERM. Resolves when the process is gone. */
  stop: (signal?: "SIGTERM" | "SIGKILL" | "SIGINT") => Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/**
 * Starts one of the product's programs in its own process group, so that a test can kill all of it at once.
 * @throws Error with the last lines when it ends, or stays silent, before it is ready
 */
export async function startProcess(options: StartOptions): Promise<RunningProcess> {
  const { entry, under = [], args = [], cwd = ROOT } = options;
  const [program = entry, ...before] = [...under, ...commandOf(entry)];
  const child = spawn(program, [...before, ...args], {
    cwd,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", NODE_ENV: "production", ...options.env },
  });
  const lines: string[] = [];
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const ready = await waitUntilReady(child, { ...options, lines, exited });
  const pid = child.pid ?? 0;
  return {
    ready,
    pid,
    lines,
    exited,
    stop: async (signal = "SIGTERM") => {
      if (child.exitCode === null && child.signalCode === null) {
        // Emulates a machine failure, so descendants in other process groups are killed as well.
        const below = signal === "SIGKILL" ? descendantsOf(pid) : [];
        process.kill(signal === "SIGKILL" ? -pid : pid, signal);
        // A process frozen with SIGSTOP handles SIGTERM only after SIGCONT.
        if (signal !== "SIGKILL") process.kill(-pid, "SIGCONT");
        for (const one of stillRunning(below)) killAny(one.pid);
      }
      return exited;
    },
  };
}

function killAny(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended meanwhile.
  }
}

function waitUntilReady(
  child: ChildProcess,
  options: StartOptions & { lines: string[]; exited: Promise<{ code: number | null }> },
): Promise<string> {
  const { lines, exited, readReady = () => "", readyWithinMs = 600_000 } = options;
  return new Promise((resolve, reject) => {
    const giveUp = (why: string) => reject(new Error(`${options.title} ${why}\n${lines.slice(-20).join("\n")}`));
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      giveUp(`was not ready within ${readyWithinMs / 1000} s:`);
    }, readyWithinMs);
    if (options.readReady === undefined) child.once("spawn", () => finish(""));
    const finish = (found: string) => {
      clearTimeout(timer);
      resolve(found);
    };
    const listen = (stream: "stdout" | "stderr") => {
      let rest = "";
      child[stream]?.on("data", (chunk: Buffer) => {
        const parts = (rest + chunk.toString()).split("\n");
        rest = parts.pop() ?? "";
        for (const line of parts) {
          lines.push(line);
          options.onLine?.(line, stream);
          const found = stream === "stdout" ? readReady(line) : null;
          if (found !== null && options.readReady !== undefined) finish(found);
        }
      });
    };
    listen("stdout");
    listen("stderr");
    void exited.then(({ code }) => {
      clearTimeout(timer);
      giveUp(`ended with ${code} before it was ready:`);
    });
  });
}
