import { chromium } from "@playwright/test";
import { findChromium } from "#e2e/gate/install-chromium.ts";
import { ADMIN } from "#e2e/stage/open-stage.ts";

/** A browser that shows one node while the whole fleet streams; records when each of its numbers was first painted. */
export interface Screen {
  /** Returns, by number, when it was painted, epoch ms. */
  seen: () => Promise<Map<number, number>>;
  close: () => Promise<void>;
}

declare global {
  interface Window {
    tidemarkSeen?: [number, number][];
  }
}

/** Opens Chromium on the page of a node, signed in. @throws Error when there is no Chromium */
export async function watchScreen(url: string, nodeId: string): Promise<Screen> {
  const executablePath = findChromium();
  if (executablePath === null)
    throw new Error("There is no Chromium: install it, or leave the screen out (--no-screen).");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${url}/sign-in`);
  await page.getByLabel("E-mail").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").first().waitFor();
  await page.goto(`${url}/nodes/${nodeId}`);
  await page
    .getByText(/RTT \d+ ms/)
    .first()
    .waitFor({ timeout: 60_000 });
  await page.evaluate(() => {
    const seen: [number, number][] = [];
    window.tidemarkSeen = seen;
    const read = (): number => Number(/RTT (\d+) ms/.exec(document.body.textContent ?? "")?.[1]);
    // The number that is shown already was painted at an unknown time.
    let last = read();
    const look = (): void => {
      const found = read();
      if (found !== last && !Number.isNaN(found)) seen.push([found, Date.now()]);
      last = found;
      // Looks again before the next frame, which is the one that paints a change.
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  return {
    seen: async () => new Map(await page.evaluate(() => window.tidemarkSeen ?? [])),
    close: () => browser.close(),
  };
}
