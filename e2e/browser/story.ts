import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type axe from "axe-core";
import { test as base, expect, type Page } from "@playwright/test";
import { ADMIN, openStage, type Stage, type StageOptions } from "../stage/open-stage.ts";

/** A story has a stage of real processes and a page; any error on the browser's console fails it. */
interface Fixtures {
  stageOptions: StageOptions;
  stage: Stage;
  /** Console errors that the story itself provokes, as expressions; everything else fails it. */
  expectedErrors: RegExp[];
}

const LINES_TOLD = 30;

export const test = base.extend<Fixtures>({
  stageOptions: [{}, { option: true }],
  expectedErrors: [[], { option: true }],
  stage: async ({ stageOptions }, use) => {
    const hub = { pages: "served" as const, ...stageOptions.hub };
    const stage = await openStage({ ...stageOptions, hub });
    try {
      await use(stage);
    } finally {
      await stage.close();
    }
  },
  // Needs the stage, so that it is judged while the hub is still there.
  page: async ({ page, stage, expectedErrors }, use) => {
    const errors = collectErrors(page);
    await use(page);
    const unexpected = errors.filter((text) => !expectedErrors.some((expected) => expected.test(text)));
    // What the hub said of it is gone with the stage.
    expect(unexpected, `The hub's last lines:\n${stage.hub.lines.slice(-LINES_TOLD).join("\n")}`).toEqual([]);
  },
});

function collectErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => errors.push(error.message));
  return errors;
}

/** Signs in through the page, as a person does, with a session of the browser's own. */
export async function signInByPage(page: Page, stage: Stage): Promise<void> {
  await page.goto(`${stage.hub.url}/sign-in`);
  await page.getByLabel("E-mail").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("navigation").first()).toBeVisible();
}

/** Opens the overview in the session that the stage has: for stories that are not about the door, which costs seconds. */
export async function openSignedIn(page: Page, stage: Stage): Promise<void> {
  const [name = "", ...value] = stage.cookie.split("=");
  await page.context().addCookies([{ name, value: value.join("="), url: stage.hub.url }]);
  await page.goto(stage.hub.url);
  await expect(page.getByRole("navigation").first()).toBeVisible();
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Returns the rules of axe that the page breaks, as far as axe calls them serious or critical, with the places; by all its rules, or by
 * that of colours alone. A document gets axe once, and minor and moderate rules do not run: `AxeBuilder`, which puts axe into the page
 * and into a blank one at each call, takes three times as long.
 */
export async function seriousFaults(page: Page, rules: "all" | "colours" = "all"): Promise<string[]> {
  // A page that was navigated to gets its title a moment after its content.
  await expect(page).toHaveTitle(/\S/);
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  return page.evaluate(async (scope) => {
    const { axe: judge } = globalThis as unknown as { axe: Judge };
    const light = judge._audit.rules.filter(({ impact }) => impact === "minor" || impact === "moderate");
    const { violations } = await judge.run(document, {
      resultTypes: ["violations"],
      ...(scope === "all"
        ? { rules: Object.fromEntries(light.map(({ id }) => [id, { enabled: false }])) }
        : { runOnly: ["color-contrast"] }),
    });
    return violations.map((one) => `${one.id} ${one.nodes.map((node) => node.target.join(" ")).join(" ")}`);
  }, rules);
}

/** Axe as it stands in a page: its rules' weights are in no public list. */
type Judge = typeof axe & { _audit: { rules: { id: string; impact: axe.ImpactValue }[] } };

/** How many pixels of the page stick out to the right. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

const LOOKS = {
  wide: { colorScheme: "light", width: 1440, height: 900 },
  narrow: { colorScheme: "dark", width: 360, height: 800 },
} as const;

/** Shows the page in one of the two looks that every screen is judged in: light and wide, dark and narrow. */
export async function showAs(page: Page, look: keyof typeof LOOKS): Promise<void> {
  const { colorScheme, width, height } = LOOKS[look];
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height });
}

/** Nothing of the page as it stands is serious to axe, and nothing sticks out to the right. */
export async function expectSound(page: Page, name = "the page"): Promise<void> {
  expect(await seriousFaults(page), name).toEqual([]);
  expect(await overflow(page), name).toBe(0);
}

export { expect };
