import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { CLIENT_PINS, SERVER_PINS, type ServerTool } from "./pins.ts";

/**
 * Installs the real servers and the other clients that the conformance tests run against, into `.tools/`. Pinned, done
 * once, and quick when everything is there. In CI a tool that cannot be had is an error; elsewhere it is reported as
 * missing with the reason, and the tests say what they did not run.
 */

const ROOT = join(import.meta.dirname, "../..");
const TOOLS = join(ROOT, ".tools");
const BIN = join(TOOLS, "bin");
const VENV = join(TOOLS, "venv");
const SUFFIX = process.platform === "win32" ? ".exe" : "";
const INSTALL_LIMIT_MS = 20 * 60_000;
const run = promisify(execFile);

/** A tool's program, or why there is none. */
export type Tool = { readonly program: string } | { readonly missing: string };

export type ClientTools = {
  /** A Python that can import boto3. */
  readonly python: Tool;
  readonly aws: Tool;
};

async function isInstalled(stamp: string, pin: string): Promise<boolean> {
  return existsSync(stamp) && (await readFile(stamp, "utf8")) === pin;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Runs `work` while no other process of this checkout installs. A lock whose holder is gone is taken over. */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  const lock = join(TOOLS, "install.lock");
  await mkdir(TOOLS, { recursive: true });
  for (;;) {
    try {
      await writeFile(lock, String(process.pid), { flag: "wx" });
      break;
    } catch {
      const holder = Number(await readFile(lock, "utf8").catch(() => ""));
      if (holder > 0 && !isAlive(holder)) await rm(lock, { force: true });
      else await pause(250);
    }
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

function lastLine(error: unknown): string {
  const text = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
  return text.trim().split("\n").at(-1) ?? "no reason given";
}

async function goInstall(name: string, pin: string): Promise<Tool> {
  const program = join(BIN, name + SUFFIX);
  const stamp = join(BIN, `${name}.pin`);
  if (existsSync(program) && (await isInstalled(stamp, pin))) return { program };
  try {
    await run("go", ["version"]);
  } catch {
    return { missing: `${name} is built with Go, and there is no "go" on the PATH` };
  }
  console.log(`Building ${name} once; this takes a few minutes.`);
  try {
    const env = { ...process.env, GOBIN: BIN, GOFLAGS: "-trimpath" };
    await run("go", ["install", pin], { env, cwd: TOOLS, timeout: INSTALL_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });
    await writeFile(stamp, pin);
    return { program };
  } catch (error) {
    return { missing: `go install ${pin} failed: ${lastLine(error)}` };
  }
}

async function pythonInstall(): Promise<Tool> {
  const program = join(VENV, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const pin = CLIENT_PINS.python.join(" ");
  const stamp = join(VENV, "tidemark.pin");
  if (existsSync(program) && (await isInstalled(stamp, pin))) return { program };
  try {
    await run("python3", ["-m", "venv", VENV], { timeout: INSTALL_LIMIT_MS });
    const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...CLIENT_PINS.python];
    await run(program, args, { timeout: INSTALL_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });
    await writeFile(stamp, pin);
    return { program };
  } catch (error) {
    return { missing: `boto3 and the aws command need Python 3 with venv and pip: ${lastLine(error)}` };
  }
}

function requireAll(tools: Readonly<Record<string, Tool>>): void {
  const reasons = Object.values(tools).flatMap((tool) => ("missing" in tool ? [tool.missing] : []));
  if (reasons.length > 0) {
    throw new Error(`In CI every server and client of the conformance tests must be there: ${reasons.join("; ")}.`);
  }
}

/** Installs one of the real servers. In CI a missing one is an error. */
export async function installServer(
  name: ServerTool,
  options: { readonly ci: boolean } = { ci: false },
): Promise<Tool> {
  const tool = await alone(() => goInstall(name, SERVER_PINS[name]));
  if (options.ci) requireAll({ [name]: tool });
  return tool;
}

/** Installs rclone. In CI a missing one is an error. */
export async function installRclone(options: { readonly ci: boolean }): Promise<Tool> {
  const rclone = await alone(() => goInstall("rclone", CLIENT_PINS.rclone));
  if (options.ci) requireAll({ rclone });
  return rclone;
}

/** Installs boto3 and the aws command. In CI a missing one is an error. */
export async function installPythonClients(options: { readonly ci: boolean }): Promise<ClientTools> {
  const python = await alone(pythonInstall);
  const aws: Tool =
    "missing" in python
      ? python
      : { program: join(VENV, process.platform === "win32" ? "Scripts/aws.cmd" : "bin/aws") };
  const tools = { python, aws };
  if (options.ci) requireAll(tools);
  return tools;
}

/**
 * Whether every peer takes part, also those that take minutes to build with Go (MinIO, rclone, s5cmd). `npm run prove -- peers`
 * sets it; the gate has one real server, and clients that are downloaded.
 */
export const withAllPeers = (): boolean => process.env["GATE_PEERS"] === "all";

/** Whether this run must not skip anything. */
export function inCi(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return env["CI"] === "true" || env["CI"] === "1";
}
