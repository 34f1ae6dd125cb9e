import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../stage/start-process.ts";

/** Makes complete Debian systems with debootstrap in `.tools/`, for tests of the single executable and of images. */

const CODE_NAMES = { 11: "bullseye", 12: "bookworm", 13: "trixie" } as const;
export type DebianVersion = keyof typeof CODE_NAMES;
const LIMIT_MS = 10 * 60_000;
const run = promisify(execFile);

/** Installs Debian packages that provide `program`. @throws Error when apt-get fails */
export async function installPackages(program: string, packages: readonly string[]): Promise<void> {
  if (existsSync(program)) return;
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, timeout: LIMIT_MS };
  await run("apt-get", ["update", "-qq"], options);
  await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], options);
}

/** Makes this version of Debian unless it exists. Returns its folder, or the reason why it is missing. */
export async function installDebian(version: DebianVersion = 12): Promise<{ folder: string } | { missing: string }> {
  const folder = join(ROOT, `.tools/debian${version}`);
  if (existsSync(folder)) return { folder };
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    return { missing: "that needs root and apt-get" };
  }
  const half = `${folder}.half`;
  try {
    await mkdir(join(ROOT, ".tools"), { recursive: true });
    await rm(half, { recursive: true, force: true });
    await installPackages("/usr/sbin/debootstrap", ["debootstrap"]);
    const mirror = mirrorOf(readSources());
    const args = ["--variant=minbase", CODE_NAMES[version], half, ...(mirror === null ? [] : [mirror])];
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    await run("/usr/sbin/debootstrap", args, { env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });
    await rename(half, folder);
    return { folder };
  } catch (error) {
    return { missing: String(error instanceof Error ? error.message : error).split("\n", 1)[0] ?? "" };
  }
}

function readSources(): string {
  const folder = "/etc/apt/sources.list.d";
  const files = [
    "/etc/apt/sources.list",
    ...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []),
  ];
  return files.map((file) => (existsSync(file) ? readFileSync(file, "utf8") : "")).join("\n");
}

/** Returns this machine's Debian mirror, from either format of apt's sources; null without one. */
export function mirrorOf(sources: string): string | null {
  const all = sources.matchAll(/^(?:URIs:\s*|deb\s+(?:\[[^\]]*\]\s+)?)(https?:\/\/\S+)/gm);
  const addresses = [...all].map(([, address = ""]) => address);
  return addresses.find((address) => /\/debian\/?$/.test(address)) ?? null;
}
