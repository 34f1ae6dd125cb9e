import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../stage/start-process.ts";

/** The Python environment with the real packages: made once, below a folder that git ignores. */

/** What is kept between proofs: the environment, the trainings without Tidemark, the rows of the page. */
export const CACHE = join(ROOT, ".prove/frameworks");
export const HERE = import.meta.dirname;
const REQUIREMENTS = join(HERE, "requirements.txt");
const VENV = join(CACHE, "venv");
const STAMP = join(VENV, "made-from");
export const PYTHON = join(VENV, "bin/python");

/** One thread, no network, no GPU: the same numbers on every machine of a kind. */
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
 * Makes the environment unless it is there and of the present requirements: about 7 GB.
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
  // DeepSpeed's setup imports torch, so it comes last and sees what is installed.
  const lines = readFileSync(REQUIREMENTS, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const isLate = (line: string) => line.startsWith("deepspeed");
  run(PYTHON, [...pip, ...lines.filter((line) => !isLate(line))]);
  run(PYTHON, [...pip, "setuptools", "wheel", "ninja", "py-cpuinfo"]);
  run(PYTHON, [...pip, "--no-build-isolation", ...lines.filter(isLate)]);
  writeFileSync(STAMP, wanted);
}

/** Returns the version of a package that is pinned. */
export function versionOf(name: string): string {
  const line = readFileSync(REQUIREMENTS, "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${name}==`));
  if (line === undefined) throw new Error(`${name} is not in requirements.txt.`);
  return line.slice(name.length + 2);
}
