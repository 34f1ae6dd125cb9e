import { spawn } from "node:child_process";
import { ROOT, commandOf } from "./start-process.ts";

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs one of the product's programs to its end. After `withinMs` (default 10 minutes) it is killed, and its code is null. */
export function runOnce(
  entry: string,
  args: string[],
  options: { env?: Record<string, string>; withinMs?: number } = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const [program, ...before] = commandOf(entry);
    const child = spawn(program, [...before, ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", CI: "true", ...options.env },
    });
    const out = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => (out.stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (out.stderr += chunk.toString()));
    const timer = setTimeout(() => child.kill("SIGKILL"), options.withinMs ?? 600_000);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, ...out });
    });
  });
}
