import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../stage/start-process.ts";

/** Makes the Python environment with the real packages, once, in a folder that git ignores. */

/** Folder of cached results: the environment and the trainings without Tidemark. */
export const CACHE = join(ROOT, ".prove/frameworks");
export const HERE = import.meta.dirname;
const REQUIREMENTS = join(HERE, "requirements.txt");
const VENV = join(CACHE, "venv");
const STAMP = join(VENV, "made-from");
export const PYTHON = join(VENV, "bin/python");

/** One thread, no network and no GPU, so that results repeat on machines of the same kind. */
export const PYTHON_ENV: Readonly<Record<string, string>> = {
  OMP_NUM_THREADS: "1",
  CUDA_VISIBLE_DEVICES: "",
  JAX_PLATFORMS: "cpu",
  HF_HUB_OFFLINE: "1",
  TOKENIZERS_PARALLELISM: "false",
  PYTHONDONTWRITEBYTECODE: "1",
};

const digestOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

function run(program: string, args: readonly string[]): void {
  const { status } = spawnSync(program, [...args], { stdio: "inherit" });
  if (status !== 0) throw new Error(`"${program} ${args.join(" ")}" ended with ${status}.`);
}

/**
 * Makes the environment (about 7 GB) unless it is up to date with the requirements.
 * @throws Error when there is no Python 3.12 (set PYTHON), or a package cannot be installed
 */
export function prepareEnvironment(): void {
  const wanted = digestOf(REQUIREMENTS);
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  console.log("  making the Python environment (7 GB)");
  rmSync(VENV, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  run(process.env["PYTHON"] ?? "python3.12", ["-m", "venv", VENV]);
  const pip = ["-m", "pip", "install", "--quiet", "--no-cache-dir"];
  // DeepSpeed's setup imports torch, so it is installed last and without build isolation.
  const lines = readFileSync(REQUIREMENTS, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const isLate = (line: string) => line.startsWith("deepspeed");
  run(PYTHON, [...pip, ...lines.filter((line) => !isLate(line))]);
  run(PYTHON, [...pip, "setuptools", "wheel", "ninja", "py-cpuinfo"]);
  run(PYTHON, [...pip, "--no-build-isolation", ...lines.filter(isLate)]);
  writeFileSync(STAMP, wanted);
}

/** Returns the pinned version of a package. */
export function versionOf(name: string): string {
  const line = readFileSync(REQUIREMENTS, "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${name}==`));
  if (line === undefined) throw new Error(`${name} is not in requirements.txt.`);
  return line.slice(name.length + 2);
}
