import type { Page } from "@playwright/test";
import { ADMIN, type Stage } from "../stage/open-stage.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, seriousFaults, test } from "./story.ts";

/** From the door to a restored checkpoint: by the keyboard alone, and by the pointer with six clicks at most. */

async function makeSafe(stage: Stage): Promise<Record<string, string>> {
  await stage.startNode({ name: "gpu-1", run: "llama" });
  const written = writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 500,
    modelBytes: 1024 ** 2,
    optimizerBytes: 0,
    loss: 1,
  });
  await waitUntil("the checkpoint is safe", async () =>
    (await stage.client.runs.list.query()).some(({ complete }) => complete === 1),
  );
  return hashFolder(written);
}

/** What has the focus, and whether it can be seen there. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) return null;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const isOutlined = outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0;
    return {
      text: (element.getAttribute("aria-label") ?? element.textContent ?? "").trim(),
      isVisible: isOutlined || element.matches("input, textarea"),
      isInDialog: element.closest("[role=dialog]") !== null,
    };
  });

test("signs in, finds the run, and restores its checkpoint without a pointer", async ({ page, stage }) => {
  const wanted = await makeSafe(stage);
  await page.goto(`${stage.hub.url}/sign-in`);
  await expect(page.getByLabel("E-mail")).toBeFocused();
  await page.keyboard.type(ADMIN.email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(ADMIN.password);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "you would lose" })).toBeVisible();

  // The first stop on every page leads past the navigation, and each stop can be seen.
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
  for (let stop = 0; stop < 12; stop++) {
    await page.keyboard.press("Tab");
    expect(await focused(page), `stop ${stop}`).toMatchObject({ isVisible: true });
  }

  // All keys are listed; what is over the page keeps the focus and gives it back.
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Shortcuts" });
  await expect(keys).toContainText("next and previous row");
  for (let stop = 0; stop < 6; stop++) {
    await page.keyboard.press("Tab");
    await expect.poll(() => focused(page)).toMatchObject({ isInDialog: true });
  }
  expect(await seriousFaults(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(keys).toBeHidden();

  // Each page is two keys away.
  for (const [key, path] of [
    ["n", "/nodes"],
    ["t", "/transfers"],
    ["b", "/buckets"],
    ["a", "/alerts"],
    ["e", "/events"],
    ["s", "/settings"],
    ["r", "/runs"],
  ] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect(page).toHaveURL(stage.hub.url + path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  }

  // Down the list, into the run, and back by the browser's own key.
  await expect(page.getByRole("link", { name: "llama" })).toBeVisible();
  await page.keyboard.press("j");
  await expect(page.getByRole("link", { name: "llama" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "llama" })).toBeVisible();

  // Any action by its name. The dialog arrives filled, and Enter starts it.
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Find a node, run, key or action" })).toBeFocused();
  await page.keyboard.type("restore llama");
  await expect(page.getByRole("option", { name: /^action Restore llama/ })).toHaveAttribute("data-highlighted");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: /^Restore/ })).toBeEnabled();
  const target = await dialog.getByLabel("Path").inputValue();
  await page.keyboard.press("Enter");
  await expect(dialog).toContainText("Restored and verified");
  expect(hashFolder(target)).toEqual(wanted);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
});

test("from the door to a restored checkpoint takes six clicks at most", async ({ page, stage }) => {
  const wanted = await makeSafe(stage);
  let clicks = 0;
  await page.exposeFunction("tellClick", () => (clicks += 1));
  await page.addInitScript(() => {
    addEventListener("pointerdown", () => {
      const tell: unknown = Reflect.get(globalThis, "tellClick");
      if (typeof tell === "function") tell();
    });
  });
  await page.goto(stage.hub.url);
  await expect(page.getByLabel("E-mail")).toBeFocused();
  await page.keyboard.type(ADMIN.email);
  await page.getByLabel("Password").click();
  await page.keyboard.type(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").first().getByRole("link", { name: "Runs" }).click();
  await page
    .getByRole("row")
    .filter({ hasText: "llama" })
    .getByRole("button", { name: /Restore/ })
    .click();
  const dialog = page.getByRole("dialog");
  const target = await dialog.getByLabel("Path").inputValue();
  await dialog.getByRole("button", { name: /^Restore/ }).click();
  await expect(dialog).toContainText("Restored and verified");
  expect(hashFolder(target)).toEqual(wanted);
  expect(clicks).toBe(5);
});
