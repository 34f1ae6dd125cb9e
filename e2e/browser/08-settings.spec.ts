import { signIn } from "../stage/hub-client.ts";
import { ADMIN } from "../stage/open-stage.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, openSignedIn, overflow, seriousFaults, signInByPage, test } from "./story.ts";

/** What an admin does with people, tokens and sessions, and what is on record of it afterwards. */

const GRACE = { email: "grace@stage.local", password: "a-password-of-hers" };

test("somebody is invited, gets another role, is disabled, enabled and removed; all of it is on record", async ({
  page,
  stage,
}) => {
  await signInByPage(page, stage);
  await page.goto(`${stage.hub.url}/settings?show=people`);
  await page.getByRole("button", { name: "Invite…" }).click();
  await page.getByLabel("E-mail").fill("no address");
  await page.getByRole("button", { name: "Make link" }).click();
  await expect(page.getByText("This does not look like an e-mail address.")).toHaveCount(1);
  await expect(page.getByLabel("E-mail")).toBeFocused();
  await page.getByLabel("E-mail").fill(GRACE.email);
  await expect(page.getByText("This does not look like an e-mail address.")).toHaveCount(0);
  await page.getByRole("button", { name: "Make link" }).click();
  const link = (await page.getByLabel("invitation link", { exact: true }).textContent()) ?? "";
  expect(link).toContain(`${stage.hub.url}/invitation#tmi_`);
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("region", { name: "Open links" })).toContainText("invited as viewer");
  // It was shown once.
  await page.reload();
  await expect(page.getByRole("region", { name: "Open links" })).toContainText(GRACE.email);
  expect(await page.content()).not.toContain(new URL(link).hash.slice(1));

  const answer = await fetch(`${stage.hub.url}/api/trpc/auth.acceptInvitation`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: stage.hub.url },
    body: JSON.stringify({ code: new URL(link).hash.slice(1), password: GRACE.password }),
  });
  expect(answer.status).toBe(200);
  const row = page.getByRole("row").filter({ hasText: GRACE.email });
  await expect(row).toBeVisible();
  await row.getByRole("combobox", { name: `Role of ${GRACE.email}` }).click();
  await page.getByRole("option", { name: "operator" }).click();
  await expect(page.getByText(`${GRACE.email} is operator now.`)).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText(`${GRACE.email} is viewer again.`)).toBeVisible();
  await expect(row.getByRole("combobox", { name: `Role of ${GRACE.email}` })).toContainText("viewer");
  await row.getByRole("combobox", { name: `Role of ${GRACE.email}` }).click();
  await page.getByRole("option", { name: "operator" }).click();
  await expect(row.getByRole("combobox", { name: `Role of ${GRACE.email}` })).toContainText("operator");
  // An admin cannot shut themselves out by a slip.
  const own = page.getByRole("row").filter({ hasText: ADMIN.email });
  await expect(own.getByRole("button")).toHaveCount(0);
  await expect(own.getByRole("combobox")).toHaveCount(0);

  await row.getByRole("button", { name: `Disable ${GRACE.email}` }).click();
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  await expect(row).toContainText("disabled");
  await expect(signIn(stage.hub.url, GRACE)).rejects.toThrow(/ACCOUNT_DISABLED/);
  await row.getByRole("button", { name: `Enable ${GRACE.email}` }).click();
  await expect(row).not.toContainText("disabled");
  await signIn(stage.hub.url, GRACE);

  await row.getByRole("button", { name: `Remove ${GRACE.email}` }).click();
  await page.getByRole("button", { name: "Keep it" }).click();
  await expect(row).toBeVisible();
  await row.getByRole("button", { name: `Remove ${GRACE.email}` }).click();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(row).toHaveCount(0);

  await page.getByRole("tab", { name: "Audit" }).click();
  const record = page.getByRole("table", { name: "Audit" });
  await expect(record.getByRole("row").filter({ hasText: "remove account" })).toContainText(GRACE.email);
  await page.getByRole("combobox", { name: "Action" }).click();
  await page.getByRole("option", { name: "disable account" }).click();
  await expect(record.getByRole("row").filter({ hasText: "remove account" })).toHaveCount(0);
  await expect(record.getByRole("row").filter({ hasText: "disable account" })).toHaveCount(1);
  await expect(page).toHaveURL(/action=disable/);
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(record.getByRole("row").filter({ hasText: "remove account" })).toHaveCount(1);
  await page.setViewportSize({ width: 390, height: 900 });
  expect(await overflow(page)).toBe(0);
});

test("an API token is shown once, works, and is refused when it was revoked", async ({ page, stage }) => {
  await signInByPage(page, stage);
  await page.goto(`${stage.hub.url}/settings?show=tokens`);
  await page.getByRole("button", { name: "New API token" }).click();
  await page.getByRole("button", { name: "Make token" }).click();
  await expect(page.getByText("A token needs a name.")).toBeVisible();
  await page.getByLabel("Name", { exact: true }).fill("nightly report");
  await page.getByRole("combobox", { name: "Role" }).click();
  await page.getByRole("option", { name: /operator/ }).click();
  await page.getByRole("button", { name: "Make token" }).click();
  const token = (await page.getByLabel("API token", { exact: true }).textContent()) ?? "";
  expect(token).toMatch(/^tmk_/);
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Done" }).click();
  const ask = async () => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${stage.hub.url}/api/trpc/runs.list`, { headers })).status;
  };
  expect(await ask()).toBe(200);
  const row = page.getByRole("row").filter({ hasText: "nightly report" });
  await expect(row).toContainText("operator");
  await row.getByRole("button", { name: "Revoke nightly report" }).click();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(row).toContainText("revoked");
  expect(await ask()).toBe(401);
});

test.describe("the password", () => {
  test.use({ expectedErrors: [/403/] });
  test("is changed with the old one, and other sessions end", async ({ page, stage }) => {
    await signInByPage(page, stage);
    await page.goto(`${stage.hub.url}/settings`);
    const sessions = page.getByRole("table", { name: "Your sessions" });
    await expect(sessions.getByRole("row").filter({ hasText: "this browser" })).toHaveCount(1);
    await expect(sessions.getByRole("button", { name: /^End / })).toHaveCount(1);

    await page.getByRole("button", { name: "Change password" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Present password").fill("not this one at all");
    await dialog.getByLabel("New password").fill("another long password");
    await dialog.getByLabel("Once more").fill("another long password");
    await dialog.getByRole("button", { name: "Change password" }).click();
    await expect(dialog.getByRole("alert")).toBeVisible();
    expect(await seriousFaults(page)).toEqual([]);
    await dialog.getByLabel("Present password").fill(ADMIN.password);
    await dialog.getByRole("button", { name: "Change password" }).click();
    await expect(page.getByText("The password is changed.")).toBeVisible();
    await expect(sessions.getByRole("button", { name: /^End / })).toHaveCount(0);
    await expect(signIn(stage.hub.url, ADMIN)).rejects.toThrow();
    await signIn(stage.hub.url, { email: ADMIN.email, password: "another long password" });
  });
});

test("sizes and times are said as this browser chose, and each setting of the hub says where it comes from", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-1", run: "llama" });
  const shape = { step: 1, modelBytes: 3 * 1024 ** 2, optimizerBytes: 0, loss: 1 };
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), ...shape });
  await waitComplete(stage, "llama");
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/settings`);
  // By the keys; the page is drawn anew and the focus stays.
  await page.getByRole("radio", { name: "Local" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.getByText(/^now .* UTC$/)).toBeVisible();
  await expect(page.getByRole("radio", { name: "UTC" })).toBeFocused();
  await page.locator("label", { hasText: /^MB$/ }).click();
  await page.goto(`${stage.hub.url}/runs/llama`);
  const row = page.getByRole("table", { name: "Checkpoints" }).getByRole("row").filter({ hasText: "complete" });
  await expect(row).toContainText(/3\.\d MB/);
  await row.getByRole("link").first().click();
  await expect(page.getByText(/\d\d:\d\d:\d\d UTC/).first()).toBeVisible();
  // From the palette, without a reload.
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Find a node, run, key or action" })).toBeFocused();
  await page.keyboard.type("sizes in mib");
  await page.keyboard.press("Enter");
  await expect(page.getByText(/3\.\d MiB/).first()).toBeVisible();

  await page.goto(`${stage.hub.url}/settings?show=hub`);
  const setting = (name: string) => page.getByRole("listitem").filter({ has: page.getByText(name, { exact: true }) });
  await expect(setting("TIDEMARK_DATA")).toContainText("environment");
  await expect(setting("TIDEMARK_KEEP_RAW")).toContainText("default");
  await expect(setting("TIDEMARK_ADMIN_PASSWORD")).toContainText("set, not shown");
  await expect(page.getByText(ADMIN.password)).toHaveCount(0);
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/settings-hub.png", fullPage: true });
  await page.getByRole("searchbox", { name: "Find a setting" }).fill("no such words");
  await expect(page.getByText("No setting has these words")).toBeVisible();
});
