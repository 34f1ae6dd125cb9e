import { existsSync } from "node:fs";
import { installPackages } from "./install-debian.ts";

/** Finds or installs Chromium for the browser stories. Debian's packages are used where possible. */

/** Debian's headless build, in which stories take a fifth less CPU time. */
const HEADLESS_SHELL = "/usr/bin/chromium-headless-shell";
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Returns the browser in TIDEMARK_CHROMIUM, or the first full one found; null when there is none. */
export function findChromium(): string | null {
  const named = process.env.TIDEMARK_CHROMIUM;
  if (named !== undefined && existsSync(named)) return named;
  return PLACES.find((path) => existsSync(path)) ?? null;
}

/** Returns the browser for stories: the headless build where it is installed. */
export function findStoryBrowser(): string | null {
  return process.env.TIDEMARK_CHROMIUM === undefined && existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : findChromium();
}

/** Installs a browser when none is found. @throws Error with one sentence when that fails */
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
