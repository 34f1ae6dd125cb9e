import { expect, expectSound, openSignedIn, seriousFaults, test } from "./story.ts";

/** What an alert, a channel that refuses and a program's last words look like when they are real. */

const LAST_WORDS = "torch.OutOfMemoryError: CUDA out of memory";
/** Nobody listens on the discard port of this machine. */
const DEAF = { url: "http://127.0.0.1:9/services/T0/B0/x", key: "" };

test("an alert fires and is acknowledged, a deaf channel says so, and a crash is found by its last words", async ({
  page,
  stage,
}) => {
  const { alerts } = stage.client;
  await alerts.channels.create.mutate({ channel: { name: "team slack", kind: "slack" }, secret: DEAF });
  // Every disk has less than all of it free.
  await alerts.rules.create.mutate({ rule: { name: "any disk", condition: { kind: "disk-full", lessPercent: 100 } } });
  const crash = `console.error(${JSON.stringify(LAST_WORDS)}); process.exit(1)`;
  await stage.startNode({ name: "gpu-1", run: "steady" });
  await stage.startNode({ name: "gpu-2", run: "crashing", program: [process.execPath, "-e", crash] });
  await openSignedIn(page, stage);

  // The overview keeps the last words folded.
  await expect(page.getByText("its final output")).toBeVisible();
  await expect(page.getByText(LAST_WORDS)).toBeHidden();
  await page.getByText("its final output").click();
  await expect(page.getByText(LAST_WORDS)).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);

  await page.goto(`${stage.hub.url}/alerts`);
  const alert = page.getByRole("listitem").filter({ hasText: "any disk" }).filter({ hasText: "gpu-1" });
  await expect(alert).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await alert.getByRole("button", { name: "Acknowledge" }).click();
  await expect(alert).toContainText("seen by");

  await page.getByRole("tab", { name: "Rules" }).click();
  await page.getByRole("button", { name: "Remove any disk" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  const rule = page.getByRole("button", { name: "Remove any disk" });
  await expect(rule).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(rule).toBeVisible();

  await page.getByRole("tab", { name: "Channels" }).click();
  await page.getByRole("button", { name: "Send a test to team slack" }).click();
  await expect(page.getByText("The message could not be delivered")).toBeVisible();
  await page.getByRole("button", { name: "Turn off team slack" }).click();
  await expect(page.getByRole("button", { name: "Turn on team slack" })).toBeVisible();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 390, height: 900 });
  await expectSound(page);

  await page.goto(`${stage.hub.url}/events`);
  await expect(page.getByText(LAST_WORDS)).toBeVisible();
  await page.getByRole("searchbox", { name: "Search events" }).fill("cuda OUT of");
  await expect(page).toHaveURL(/q=cuda/);
  await expect(page.getByText(LAST_WORDS)).toBeVisible();
  await expect(page.getByText("joined and keeps its checkpoints")).toHaveCount(0);
  await expectSound(page);
});
