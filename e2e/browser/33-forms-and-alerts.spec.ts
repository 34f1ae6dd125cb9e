import { openMailReceiver, type MailReceiver } from "#storage/testing/open-mail-receiver.ts";
import { expect, expectSound, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

/** The first channel, a mail that arrives, a mute with its reason, and what forms say of what is wrong. */

let mail: MailReceiver;
test.beforeAll(async () => {
  mail = await openMailReceiver();
});
test.afterAll(async () => {
  await mail.close();
});

test("the first channel is told by all rules, its test arrives, and what is muted is seen and ended", async ({
  page,
  stage,
}) => {
  const condition = { kind: "disk-full" as const, lessPercent: 100 };
  await stage.client.alerts.rules.create.mutate({ rule: { name: "any disk", condition } });
  await stage.client.alerts.rules.create.mutate({ rule: { name: "grave disk", condition, severity: "critical" } });
  await stage.startNode({ name: "gpu-1" });
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/alerts?show=channels`);
  await page.getByRole("button", { name: "Add channel" }).first().click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByLabel(/^Notify for all \d+ rules$/)).toBeChecked();
  await expect(dialog.getByLabel("Default for new rules")).toBeChecked();

  // One error, at its field, which goes when the field changes.
  await dialog.getByRole("button", { name: "Add channel" }).click();
  const name = dialog.getByLabel("Name", { exact: true });
  await expect(name).toBeFocused();
  await expect(dialog.getByText("A channel needs a name.")).toHaveCount(1);
  await name.fill("night shift");
  await expect(dialog.getByText("A channel needs a name.")).toHaveCount(0);
  await dialog.getByRole("combobox", { name: "Kind" }).click();
  await page.getByRole("option", { name: "E-mail" }).click();
  await dialog.getByLabel("Mail server").fill(mail.host);
  await dialog.getByRole("combobox", { name: "TLS" }).click();
  await page.getByRole("option", { name: "None (25)" }).click();
  await dialog.getByLabel("Port").fill(mail.port);
  await dialog.getByLabel("From").fill("tidemark@example.com");
  await dialog.getByRole("button", { name: "Add channel" }).click();
  await expect(dialog.getByText("To is missing")).toHaveCount(1);
  await dialog.getByLabel("To", { exact: true }).fill("ops@example.com");
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Add channel" }).click();
  await expect(dialog).toHaveCount(0);
  await page.getByRole("button", { name: "Send a test to night shift" }).click();
  await expect(page.getByText("Delivered")).toBeVisible();
  // A rule may have sent its alert meanwhile.
  expect([...new Set(mail.got.flatMap(({ to }) => to))]).toEqual(["ops@example.com"]);

  // Every rule names it now, and a new one begins with it.
  await page.getByRole("tab", { name: "Rules" }).click();
  await expect(page.getByText("shown here only")).toHaveCount(0);
  await expect(page.getByText("notifies night shift").first()).toBeVisible();
  await page.getByRole("button", { name: "Add rule" }).click();
  await expect(page.getByRole("dialog").getByLabel(/^night shift/)).toBeChecked();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();

  await page.getByRole("button", { name: "Mute any disk" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Mute", exact: true }).click();
  await expect(page.getByText("Say why, for the others.")).toHaveCount(1);
  await page.getByLabel("Reason").fill("disks are being exchanged");
  await page.getByRole("dialog").getByRole("button", { name: "Mute", exact: true }).click();
  await page.getByRole("tab", { name: "Firing now" }).click();
  const muted = page.getByRole("list", { name: "Muted rules" });
  await expect(muted).toContainText("disks are being exchanged");

  // By rule, the critical one first, with what was sent.
  await expect(page.getByRole("heading", { level: 3 }).first()).toHaveText("grave disk");
  await expect(page.getByRole("region", { name: "any disk" })).toContainText("muted, nothing is sent");
  await expect(page.getByRole("region", { name: "grave disk" })).toContainText("1 sent to night shift");
  await expect.poll(() => mail.got.some(({ text }) => text.includes("[critical]"))).toBe(true);
  for (const look of ["wide", "narrow"] as const) {
    await showAs(page, look);
    await expectSound(page);
  }
  await muted.getByRole("button", { name: "End the mute of any disk" }).click();
  await expect(muted).toHaveCount(0);
});

test("a wrong key is said to be refused, a bucket that is there already is told, and a passed test is not forgotten", async ({
  page,
  stage,
}) => {
  const { endpoint, accessKey, secretKey, bucket } = stage.store;
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/buckets?add=1`);
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await expect(page.getByLabel("Name", { exact: true })).toBeFocused();
  await page.getByLabel("Name", { exact: true }).fill("second");
  await page.getByRole("combobox", { name: "Provider" }).click();
  await page.getByRole("option", { name: /^MinIO/ }).click();
  await page.getByLabel("Endpoint", { exact: true }).fill(endpoint);
  await page.getByLabel("Bucket", { exact: true }).fill(bucket);
  await page.getByLabel("Access key id", { exact: true }).fill(accessKey);
  await page.getByLabel("Secret key", { exact: true }).fill("a wrong secret");
  await expect(page.getByText("stage bucket has this bucket and prefix already.")).toBeVisible();
  await page.getByLabel("Prefix", { exact: true }).fill("second/");
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await expect(page.getByText("The key was refused.")).toBeVisible();
  await expect(page.getByText("not tried")).toHaveCount(0);
  await page.getByLabel("Secret key", { exact: true }).fill(secretKey);
  await expect(page.getByText("The key was refused.")).toHaveCount(0);
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await expect(page.getByText("Everything Tidemark needs works.")).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Add bucket", exact: true }).last().click();
  const card = page.getByRole("region", { name: "second" });
  await expect(card).toContainText("works");
  await expect(card).not.toContainText("not tested yet");
});
