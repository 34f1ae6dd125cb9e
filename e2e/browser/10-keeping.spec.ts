import { runName } from "#protocol/base/names.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, seriousFaults, test } from "./story.ts";

const run = runName.parse("llama-8b");
const KIB = 1024;
// What is kept is refused with a 409.
test.use({ expectedErrors: [/409 \(Conflict\).*checkpoints\.trash/] });

test("checkpoints are pinned, tagged and noted, a policy shows what goes before it does, and the trash gives back", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-1", run, flags: ["--settle", "100ms"] });
  const complete = async () =>
    (await stage.client.runs.get.query({ run })).checkpoints.filter(({ state }) => state === "complete");
  for (const step of [100, 200, 300, 400, 500]) {
    const shape = { modelBytes: 64 * KIB, optimizerBytes: 0, loss: 1 / step };
    writeCheckpoint({ folder: stage.folderOf("gpu-1"), step, ...shape });
    await waitUntil(`step ${step} is safe`, async () => (await complete()).some((one) => one.step === step));
  }
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/${run}`);
  const table = page.getByRole("table", { name: "Checkpoints" });
  const rowOf = (step: number) => table.getByRole("row").filter({ has: page.getByRole("link", { name: `${step}` }) });

  // A pin with the pointer, another with the keyboard.
  await page.getByRole("button", { name: "Pin step 100", exact: true }).click();
  await expect(page.getByRole("button", { name: "Unpin step 100" })).toBeVisible();
  await rowOf(200).getByRole("link").focus();
  await page.keyboard.press("p");
  await expect(page.getByRole("button", { name: "Unpin step 200" })).toBeVisible();
  await expect.poll(async () => (await complete()).filter(({ keeping }) => keeping.isPinned).length).toBe(2);
  await page.keyboard.press("p");
  await expect(page.getByRole("button", { name: "Pin step 200", exact: true })).toBeVisible();

  // A tag and a note, with hostile text.
  await page.getByRole("button", { name: "Tags, note and trash of step 300" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Tags").fill("two words");
  await dialog.getByRole("button", { name: "Add tag" }).click();
  await expect(dialog.getByText("a tag has 1 to 32 letters")).toBeVisible();
  await dialog.getByLabel("Tags").fill("best");
  await dialog.getByLabel("Tags").press("Enter");
  await expect(dialog.getByRole("button", { name: "Remove the tag best" })).toBeVisible();
  await dialog.getByLabel("Note").fill("<img src=x onerror=alert(1)> lr 3e-4");
  await dialog.getByRole("button", { name: "Save note" }).click();
  await expect(dialog.getByRole("button", { name: "Save note" })).toBeDisabled();
  expect(await seriousFaults(page)).toEqual([]);
  // What is tagged stays.
  await dialog.getByRole("button", { name: "Move to trash" }).click();
  await expect(dialog.getByText("This checkpoint stays")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Tagged/ }).click();
  await expect(table.getByRole("row")).toHaveCount(2);
  await expect(rowOf(300)).toContainText("best");
  await page.getByRole("button", { name: /^Pinned/ }).click();
  await expect(rowOf(100)).toBeVisible();
  await expect(rowOf(300)).toHaveCount(0);
  await page.getByRole("group", { name: "Show" }).getByRole("button", { name: /^All/ }).click();

  // The policy says what it would do before it does it.
  await page.getByRole("button", { name: "Edit policy…" }).click();
  const policy = page.getByRole("dialog");
  await policy.getByLabel("The last").fill("1");
  await expect(policy.getByText("2 of 5 go to the trash")).toBeVisible();
  const preview = policy.getByRole("table", { name: "What the policy does" });
  await expect(preview.getByRole("row").filter({ hasText: "no rule keeps it" })).toHaveCount(2);
  await expect(preview.getByRole("row").filter({ hasText: "pinned" })).toContainText("100");
  await expect(preview.getByRole("row").filter({ hasText: "tagged best" })).toContainText("300");
  await policy.getByLabel("At most").fill("a lot");
  await policy.getByRole("button", { name: "Save policy" }).click();
  await expect(policy.getByText("a size like 500 GB")).toHaveCount(1);
  await expect(policy.getByLabel("At most")).toBeFocused();
  await policy.getByLabel("At most").fill("");
  await expect(policy.getByText("a size like 500 GB")).toHaveCount(0);
  expect(await seriousFaults(page)).toEqual([]);
  await page.setViewportSize({ width: 360, height: 800 });
  await page.emulateMedia({ colorScheme: "dark" });
  await expectSound(page);
  await policy.getByRole("button", { name: "Save policy" }).click();
  await expect(policy).toBeHidden();
  const kept = page.getByText("Keeps the last one; the trash keeps 7 d.");
  await expect(kept).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(kept).toHaveCount(0);
  await page.getByRole("button", { name: "Edit policy…" }).click();
  await policy.getByLabel("The last").fill("1");
  await policy.getByRole("button", { name: "Save policy" }).click();
  await expect(kept).toBeVisible();
  await page.getByRole("button", { name: "Apply now" }).click();

  // The trash says how long, and gives back.
  await expect(page.getByRole("button", { name: "Bring step 200 back" })).toBeVisible();
  await expect(page.getByText(/(6 d 23 h|7 d) left/)).toHaveCount(2);
  await expect(table.getByRole("link", { name: "200" })).toHaveCount(0);
  await expectSound(page);
  await page.getByRole("button", { name: "Bring step 200 back" }).click();
  await expect(table.getByRole("link", { name: "200" })).toBeVisible();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
  expect(await seriousFaults(page)).toEqual([]);

  // Too young to be deleted for good, and it says so.
  await page.getByRole("button", { name: "Empty now…" }).click();
  await page.getByRole("button", { name: "Delete for good" }).click();
  await expect(page.getByText("written less than 25 hours ago: the hub deletes them")).toBeVisible();

  // The same on the checkpoint's own page.
  await page.getByRole("link", { name: "step 400" }).first().click();
  await expect(page.getByRole("heading", { name: "In the trash" })).toBeVisible();
  await page.getByRole("button", { name: "Bring step 400 back" }).click();
  await expect(page.getByRole("heading", { name: "Retention" })).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  // A press too many is taken back.
  await page.getByRole("button", { name: "Move to trash" }).click();
  await expect(page.getByRole("heading", { name: "In the trash" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByRole("heading", { name: "Retention" })).toBeVisible();
  await page.getByRole("button", { name: "Pin", exact: true }).click();
  await expect(page.getByRole("button", { name: "Unpin" })).toBeVisible();
  await expect.poll(async () => (await complete()).find(({ step }) => step === 400)?.keeping.isPinned).toBe(true);
});
