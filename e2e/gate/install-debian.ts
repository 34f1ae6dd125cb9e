import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../stage/start-process.ts";

/** A whole Debian 12, as debootstrap makes it, for the tests of the single executable. Made once, in `.tools/`. */

const FOLDER = join(ROOT, ".tools/debian12");
const LIMIT_MS = 10 * 60_000;
const run = promisify(execFile);

/** The folder, or why there is none. */
export async function installDebian(): Promise<{ folder: string } | { missing: string }> {
  if (existsSync(FOLDER)) return { folder: FOLDER };
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    return { missing: "that needs root and apt-get" };
  }
  const half = `${FOLDER}.half`;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  try {
    await mkdir(join(ROOT, ".tools"), { recursive: true });
    await rm(half, { recursive: true, force: true });
    if (!existsSync("/usr/sbin/debootstrap")) {
      await run("apt-get", ["update", "-qq"], { env, timeout: LIMIT_MS });
      await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "debootstrap"], {
        env,
        timeout: LIMIT_MS,
      });
    }
    const mirror = mirrorOf(readSources());
    const args = ["--variant=minbase", "bookworm", half, ...(mirror === null ? [] : [mirror])];
    await run("/usr/sbin/debootstrap", args, { env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });
    await rename(half, FOLDER);
    return { folder: FOLDER };
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

/** Where this machine has Debian's packages from, in either form that apt reads; null: it has none of them. */
export function mirrorOf(sources: string): string | null {
  const all = sources.matchAll(/^(?:URIs:\s*|deb\s+(?:\[[^\]]*\]\s+)?)(https?:\/\/\S+)/gm);
  const addresses = [...all].map(([, address = ""]) => address);
  return addresses.find((address) => /\/debian\/?$/.test(address)) ?? null;
}
