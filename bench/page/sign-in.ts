import type { Page } from "@playwright/test";
import { ADMIN } from "#e2e/stage/open-stage.ts";

/** Signs in through the form, as a person does; resolves when the first page is there. */
export async function signIn(page: Page, url = ""): Promise<void> {
  await page.goto(`${url}/sign-in`);
  await page.getByLabel("E-mail").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").first().waitFor({ timeout: 60_000 });
}
