import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Chromium for the browser stories: the one of the system, put there from Debian's packages where that is possible. */

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser to drive: TIDEMARK_CHROMIUM, or the first one found; null when there is none. */
export function findChromium(): string | null {
  const named = process.env.TIDEMARK_CHROMIUM;
  if (named !== undefined && existsSync(named)) return named;
  return PLACES.find((path) => existsSync(path)) ?? null;
}

/** @throws Error with one sentence when there is no browser and none can be installed. */
export async function installChromium(options: { ci: boolean }): Promise<void> {
  if (findChromium() !== null) return;
  const isRoot = process.getuid?.() === 0;
  if (isRoot && existsSync("/usr/bin/apt-get")) {
    console.log("     installing Debian's chromium");
    for (const line of [
      ["update", "-qq"],
      ["install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ]) {
      spawnSync("apt-get", line, { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
    }
  }
  if (findChromium() === null) {
    throw new Error(
      `no Chromium was found and it could not be installed${options.ci ? " in CI" : ""}. Install it (apt-get install chromium) or name one in TIDEMARK_CHROMIUM.`,
    );
  }
}
