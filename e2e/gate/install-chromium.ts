import { existsSync } from "node:fs";
import { installPackages } from "./install-debian.ts";

/** Chromium for the browser stories: the one of the system, put there from Debian's packages where that is possible. */

/** Debian's build without a window: stories take a fifth less CPU in it. */
const HEADLESS_SHELL = "/usr/bin/chromium-headless-shell";
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Returns the browser that TIDEMARK_CHROMIUM names, or the first whole one found; null when there is none. */
export function findChromium(): string | null {
  const named = process.env.TIDEMARK_CHROMIUM;
  if (named !== undefined && existsSync(named)) return named;
  return PLACES.find((path) => existsSync(path)) ?? null;
}

/** Returns the browser for stories: the one without a window where it is installed. */
export function findStoryBrowser(): string | null {
  return process.env.TIDEMARK_CHROMIUM === undefined && existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : findChromium();
}

/** @throws Error with one sentence when there is no browser and none can be installed. */
export async function installChromium(options: { ci: boolean }): Promise<void> {
  if (findStoryBrowser() !== null) return;
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    for (const name of ["chromium-headless-shell", "chromium"]) {
      if (findStoryBrowser() === null) await installPackages(`/usr/bin/${name}`, [name]).catch(() => undefined);
    }
  }
  if (findStoryBrowser() === null) {
    throw new Error(
      `no Chromium was found and it could not be installed${options.ci ? " in CI" : ""}. Install it (apt-get install chromium) or name one in TIDEMARK_CHROMIUM.`,
    );
  }
}
