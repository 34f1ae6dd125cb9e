import { AxeBuilder } from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";
import { ADMIN, openStage, type Stage, type StageOptions } from "../stage/open-stage.ts";

/** A story has a stage of real processes and a page; any error on the browser's console fails it. */
interface Fixtures {
  stageOptions: StageOptions;
  stage: Stage;
  /** Console errors that the story itself provokes, as expressions; everything else fails it. */
  expectedErrors: RegExp[];
}

export const test = base.extend<Fixtures>({
  stageOptions: [{}, { option: true }],
  expectedErrors: [[], { option: true }],
  stage: async ({ stageOptions }, use) => {
    const stage = await openStage({ ...stageOptions, hub: { pages: "served", ...stageOptions.hub } });
    try {
      await use(stage);
    } finally {
      await stage.close();
    }
  },
  // Needs the stage, so that it is judged while the hub is still there.
  page: async ({ page, stage: _stage, expectedErrors }, use) => {
    const errors = collectErrors(page);
    await use(page);
    expect(errors.filter((text) => !expectedErrors.some((expected) => expected.test(text)))).toEqual([]);
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

/** Signs in through the page, as a person does. */
export async function signInByPage(page: Page, stage: Stage): Promise<void> {
  await page.goto(`${stage.hub.url}/sign-in`);
  await page.getByLabel("E-mail").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("navigation").first()).toBeVisible();
}

/** What axe finds serious or critical on the page as it stands, with where. */
export async function seriousFaults(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map((one) => `${one.id} ${one.nodes.map((node) => node.target).join(" ")}`);
}

/** How many pixels of the page stick out to the right. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

export { expect };
