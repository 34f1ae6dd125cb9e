import { join } from "node:path";
import { ADMIN } from "../stage/open-stage.ts";
import { startHub } from "../stage/start-hub.ts";
import { expect, expectSound, seriousFaults, test } from "./story.ts";

/** The links that an admin passes on lead somewhere: an account, and a way back into it. */

test("somebody who was invited gets an account, forgets the password and comes back", async ({ page, stage }) => {
  const made = await stage.client.invitations.create.mutate({ email: "grace@stage.local", role: "viewer" });
  await page.goto(made.link);
  await expect(page.getByRole("heading", { name: "You were invited." })).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByLabel("Password", { exact: true }).fill("short");
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page.getByText("A password has at least 12 characters.")).toBeVisible();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 390, height: 900 });
  await expectSound(page);
  await page.getByLabel("Password", { exact: true }).fill(ADMIN.password);
  await page.getByLabel("Once more").fill(ADMIN.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page.getByRole("navigation").first()).toBeVisible();

  const users = await stage.client.users.list.query();
  const grace = users.find(({ email }) => email === "grace@stage.local");
  expect(grace?.role).toBe("viewer");
  const reset = await stage.client.users.resetPassword.mutate({ id: grace?.id ?? "" });
  await page.goto(reset.link);
  await expect(page.getByRole("heading", { name: "A new password." })).toBeVisible();
  await page.getByLabel("Password", { exact: true }).fill("another long password");
  await page.getByLabel("Once more").fill("another long password");
  await page.getByRole("button", { name: "Set password" }).click();
  await expect(page.getByRole("navigation").first()).toBeVisible();
});

test("a hub that was told its address says on a page that was opened elsewhere where signing in works", async ({
  page,
  stage,
}) => {
  const hub = await startHub({
    dataDir: join(stage.dir, "told"),
    admin: ADMIN,
    pages: "served",
    env: { TIDEMARK_PUBLIC_URL: "https://tidemark.example" },
  });
  try {
    await page.goto(`${hub.url}/sign-in`);
    const note = page.getByRole("alert").filter({ hasText: "The hub's address is https://tidemark.example." });
    await expect(note).toContainText(`This page was opened at ${new URL(hub.url).origin}`);
    await expect(note.getByRole("link")).toHaveAttribute("href", "https://tidemark.example");
    await expectSound(page);
    await page.screenshot({ path: "test-results/wrong-address.png" });
    await page.setViewportSize({ width: 390, height: 900 });
    await page.emulateMedia({ colorScheme: "dark" });
    await expectSound(page);
    await page.screenshot({ path: "test-results/wrong-address-narrow.png" });
  } finally {
    await page.goto("about:blank");
    await hub.stop();
  }
});

test.describe("a link that is not whole or not good any more", () => {
  test.use({ expectedErrors: [/401/] });
  test("says so, and what to do", async ({ page, stage }) => {
    await page.goto(`${stage.hub.url}/invitation`);
    await expect(page.getByText(/copy the whole link/)).toBeVisible();
    await page.goto(`${stage.hub.url}/invitation#tmi_used`);
    await page.getByLabel("Password", { exact: true }).fill(ADMIN.password);
    await page.getByLabel("Once more").fill(ADMIN.password);
    await page.getByRole("button", { name: "Create account" }).click();
    await expect(page.getByText(/Ask an admin of this hub for a new one/)).toBeVisible();
  });
});
