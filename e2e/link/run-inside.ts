import { spawn } from "node:child_process";
import { once } from "node:events";
import { ROOT } from "../stage/start-process.ts";

/** Runs a script of this project in a network namespace, with what it is given as its one argument in JSON. Its exit code. */
export async function runInside(netns: string, script: string, given: unknown): Promise<number | null> {
  const args = [`--net=${netns}`, process.execPath, script, JSON.stringify(given)];
  const child = spawn("nsenter", args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
  await once(child, "close");
  return child.exitCode;
}
