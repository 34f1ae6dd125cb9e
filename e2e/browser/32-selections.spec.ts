import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page, Route } from "@playwright/test";
import { hashObject } from "../stage/hash-object.ts";
import { letPagesIn } from "../stage/let-pages-in.ts";
import type { Stage } from "../stage/open-stage.ts";
import { armFault, clearFaults, readCounters, resetCounters } from "../stage/store-control.ts";
import { openUpload, putAll, standInPickers, writeFiles } from "./browser-files.ts";
import { expect, expectSound, openSignedIn, showAs, test } from "./story.ts";

/** What is ticked is what is acted on; filters keep what is typed and are steps back; progress counts bytes and outlives a reload. */

const MIB = 1024 ** 2;
const PART = 5 * MIB;

const succeeded = async (stage: Stage, operation: string): Promise<number> =>
  (await readCounters(stage.store, operation)).targets.reduce((sum, one) => sum + one.succeeded, 0);

const chosen = (page: Page) => page.getByRole("region", { name: "Chosen" });
const tick = (page: Page, name: string) => page.getByRole("button", { name: `Choose ${name}`, exact: true }).click();

async function openFolder(page: Page, stage: Stage, query: string): Promise<void> {
  await page.goto(`${stage.hub.url}/buckets/${stage.profileId}${query}`);
  await expect(page.getByRole("grid", { name: "Objects" })).toBeVisible();
}

test("a download brings what is ticked, after it said how many objects and bytes that are", async ({ page, stage }) => {
  // Through the browser's own downloads, which the story can look at.
  await page.addInitScript(() => Reflect.deleteProperty(globalThis, "showSaveFilePicker"));
  await letPagesIn(stage);
  await putAll(stage, { "a/1.txt": "one", "a/2.txt": "two!", "a/deep/3.txt": "three", "b.txt": "elsewhere" });
  await openSignedIn(page, stage);
  await openFolder(page, stage, "?in=a/");
  await resetCounters(stage.store);
  await tick(page, "1.txt");
  await tick(page, "deep/");
  await chosen(page).getByRole("button", { name: "Download…" }).click();
  const dialog = page.getByRole("dialog", { name: "Download objects" });
  await expect(dialog.getByRole("button", { name: "Download 2 objects, 8 B" })).toBeEnabled();
  await expect(dialog).toContainText("a-selection.tar");
  await expectSound(page, "the question");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await succeeded(stage, "GetObject")).toBe(0);

  // The button above the list means the ticks, too, while there are any.
  await page.getByRole("button", { name: "Download selection…" }).click();
  const coming = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Download 2 objects, 8 B" }).click();
  const archive = await (await coming).path();
  const out = mkdtempSync(join(stage.dir, "tar-"));
  execFileSync("tar", ["-xf", archive, "-C", out]);
  const files = execFileSync("find", [".", "-type", "f"], { cwd: out, encoding: "utf8" });
  expect(files.trim().split("\n").toSorted()).toEqual(["./1.txt", "./deep/3.txt"]);
  expect(readFileSync(join(out, "deep/3.txt"), "utf8")).toBe("three");

  await chosen(page).getByRole("button", { name: "Clear" }).click();
  await page.getByRole("button", { name: "Download this folder…" }).click();
  await expect(dialog.getByRole("button", { name: "Download 3 objects, 12 B" })).toBeEnabled();
  await page.keyboard.press("Escape");
  await showAs(page, "narrow");
  await expectSound(page, "the folder, narrow");
});

test("everything that fits a selection is offered, and what does not fit says why", async ({ page, stage }) => {
  await putAll(stage, { "a/1.txt": "one", "a/2.txt": "two!", "a/deep/3.txt": "three" });
  await openSignedIn(page, stage);
  await openFolder(page, stage, "?in=a/");
  await tick(page, "1.txt");
  await tick(page, "2.txt");
  const bar = chosen(page);
  await expect(bar).toContainText("2 objects, 7 B");
  await bar.getByRole("button", { name: "Share…" }).click();
  await page.getByRole("button", { name: "Make 2 links" }).click();
  const second = page.getByLabel("share link of a/2.txt", { exact: true });
  expect(await (await fetch((await second.textContent()) ?? "")).text()).toBe("two!");
  await expectSound(page, "two links");
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();

  await expect(bar.getByRole("button", { name: "Older versions" })).toBeDisabled();
  await tick(page, "deep/");
  await expect(bar.getByRole("button", { name: "Share…" })).toHaveAttribute("title", /leave the folders out/);
  await bar.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Show what would happen" }).click();
  await expect(page.getByRole("button", { name: "Delete 3 objects, 12 B" })).toBeEnabled();
  await page.getByRole("button", { name: "Leave it" }).click();

  await bar.getByRole("button", { name: "Clear" }).click();
  await tick(page, "1.txt");
  await bar.getByRole("button", { name: "Older versions" }).click();
  await expect(page).toHaveURL(/begins=1\.txt/);
  await expect(page.getByText("This store keeps no versions")).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("grid", { name: "Objects" })).toBeVisible();
});

test("folders tell their sizes when they are asked for, and the heads sort both ways", async ({ page, stage }) => {
  const objects = { "a/1.txt": "x".repeat(10), "a/2.txt": "x".repeat(3000), "a/deep/3.txt": "x".repeat(700) };
  await putAll(stage, { ...objects, "a/deep/below/4.txt": "x".repeat(68) });
  await openSignedIn(page, stage);
  await openFolder(page, stage, "?in=a/");
  const names = page.locator("tr[id^=row-] button[title]");
  const head = (name: string) => page.getByRole("columnheader", { name });
  await page.getByRole("button", { name: "Folder sizes" }).click();
  const folder = page.getByRole("row").filter({ hasText: "deep/" });
  await expect(folder).toContainText("768 B");
  await head("Size").getByRole("button").click();
  await expect(head("Size")).toHaveAttribute("aria-sort", "descending");
  await expect(names).toHaveText(["2.txt", "deep/", "1.txt"]);
  await head("Size").getByRole("button").click();
  await expect(head("Size")).toHaveAttribute("aria-sort", "ascending");
  await expect(names).toHaveText(["1.txt", "deep/", "2.txt"]);
  await expect(head("Size").getByRole("button")).toBeFocused();
  await expectSound(page);
  await page.goBack();
  await expect(names).toHaveText(["2.txt", "deep/", "1.txt"]);
  await page.reload();
  await expect(folder).toContainText("768 B");
});

/** Holds back everything that a page asks of the hub once it is there; returns how to let it go. */
async function holdBack(page: Page, pattern: RegExp): Promise<() => Promise<void>> {
  const held: Route[] = [];
  let isOver = false;
  await page.route(pattern, async (route) => {
    if (isOver) await route.continue();
    else held.push(route);
  });
  return async () => {
    isOver = true;
    for (const route of held) await route.continue();
  };
}

test("what is typed while a page is still loading stays, in all of its filters", async ({ page, stage }) => {
  await openSignedIn(page, stage);
  const letGo = await holdBack(page, /trpc\/[^?]*(events|runs|profiles|bucket|transfers)\.|[?&]_rsc=/);
  await page.goto(`${stage.hub.url}/events`);
  const words = page.getByLabel("Search events");
  // Slow enough that the first letters are applied while the others are typed.
  await words.pressSequentially("checkpoint lost", { delay: 130 });
  await page.getByLabel("Node", { exact: true }).fill("gpu-7");
  await page.getByLabel("Run", { exact: true }).fill("llama");
  await page.getByLabel("From day").fill("2026-11-01");
  await expect(page).toHaveURL(/\?(?=.*q=checkpoint\+lost)(?=.*node=gpu-7)(?=.*run=llama)(?=.*from=2026-11-01)/);
  await letGo();
  await expect(page.getByText("No event matches")).toBeVisible();
  await expect(words).toHaveValue("checkpoint lost");
  await expect(page.getByLabel("Node", { exact: true })).toHaveValue("gpu-7");
  await page.getByRole("button", { name: "Clear", exact: true }).click();
  await expect(words).toHaveValue("");
  await expect(page.getByLabel("From day")).toHaveValue("");
  await page.goBack();
  await expect(words).toHaveValue("checkpoint lost");
});

test("what is typed for one folder is not applied to the next", async ({ page, stage }) => {
  await putAll(stage, { "a/note.txt": "x", "a/deep/other.txt": "y" });
  await openSignedIn(page, stage);
  await openFolder(page, stage, "?in=a/");
  const filter = page.getByLabel("Names in this folder that begin with");
  const folder = await page.getByRole("button", { name: "deep/", exact: true }).elementHandle();
  // In one turn of the page: once the filter is applied, the folder has no row.
  await filter.evaluate((field, row) => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(field, "note");
    field.dispatchEvent(new Event("input", { bubbles: true }));
    if (row instanceof HTMLElement) row.click();
  }, folder);
  await expect(page.getByRole("button", { name: "other.txt", exact: true })).toBeVisible();
  await expect(page).not.toHaveURL(/begins=/);
  await expect(filter).toHaveValue("");
});

const STEPS = [
  { path: "/nodes", group: "Show", first: "All", second: "Behind or lost" },
  { path: "/runs", group: "Show", first: "All", second: "Being written" },
  { path: "/transfers", group: "Show", first: "Now", second: "Failed" },
  { path: "/buckets/ID", group: "Show", first: "Objects", second: "Versions" },
] as const;

test("a click on a filter is a step of the history, on every list", async ({ page, stage }) => {
  await putAll(stage, { "a.txt": "x" });
  await openSignedIn(page, stage);
  for (const { path, group, first, second } of STEPS) {
    await page.goto(stage.hub.url + path.replace("ID", stage.profileId));
    const words = page.getByRole("group", { name: group, exact: true }).first().getByRole("button");
    const now = words.filter({ hasText: first }).first();
    const other = words.filter({ hasText: second }).first();
    await expect(now, path).toHaveAttribute("aria-pressed", "true");
    await other.click();
    await expect(other, path).toHaveAttribute("aria-pressed", "true");
    await page.goBack();
    await expect(now, path).toHaveAttribute("aria-pressed", "true");
    await page.goForward();
    await expect(other, path).toHaveAttribute("aria-pressed", "true");
  }
});

/** Slow enough that it can be left in the middle. */
const SLOW = { op: "UploadPart", action: { kind: "rate", side: "request", bytesPerSecond: 400_000 } };

const line = (page: Page, name: string) =>
  page.getByRole("region", { name: "This browser" }).getByRole("listitem", { name: `upload of ${name}` });

/** As a browser that forgets on each reload which files a page may read, and gives leave only to a click. */
async function forgetLeave(page: Page): Promise<void> {
  await page.addInitScript(() => {
    let isLet = sessionStorage.getItem("reloaded") === null;
    const ask = async () => {
      if (!isLet && !navigator.userActivation.isActive) throw new DOMException("no click", "SecurityError");
      isLet = true;
      return "granted";
    };
    Reflect.set(FileSystemHandle.prototype, "queryPermission", async () => (isLet ? "granted" : "prompt"));
    Reflect.set(FileSystemHandle.prototype, "requestPermission", ask);
  });
}

test("an upload counts bytes, and goes on after a reload by one permission", async ({ page, stage }) => {
  await standInPickers(page);
  await forgetLeave(page);
  await letPagesIn(stage);
  await openSignedIn(page, stage);
  const small = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}.json`, 1000]));
  const sums = await writeFiles(page, { ...small, "weights.bin": 60 * MIB });
  await armFault(stage.store, SLOW);
  await openUpload(page, stage);
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Choose a folder" }).click();
  await expect(dialog).toContainText("21 files");
  await dialog.getByRole("button", { name: "Upload", exact: true }).click();
  const upload = line(page, "21 files");
  // The map, the line and the sum of all say the same.
  const said = / of 60\.0 MiB \(\d+ %\)/;
  await expect(upload.getByRole("img", { name: said })).toBeVisible();
  await expect(upload).toContainText(said);
  await expect(page.getByText(/^1 moving, .+ of 60\.0 MiB \(\d+ %\)\./)).toBeVisible();
  await expect.poll(() => succeeded(stage, "UploadPart")).toBeGreaterThanOrEqual(2);

  await page.evaluate(() => sessionStorage.setItem("reloaded", "yes"));
  await page.reload();
  await expect(upload).toContainText("permission needed");
  await expect(upload).not.toContainText("(0 %)");
  await expectSound(page, "an upload that waits");
  await clearFaults(stage.store);
  await upload.getByRole("button", { name: "Allow reading dataset and go on" }).click();
  await expect(upload).toContainText("done");
  expect(await succeeded(stage, "UploadPart")).toBe(Math.ceil((60 * MIB) / PART));
  expect(await hashObject(stage, "up/dataset/weights.bin")).toBe(sums["weights.bin"]);
});

test("where a browser keeps no handles the folder is asked for once, and its files are found below", async ({
  page,
  stage,
}) => {
  await page.addInitScript(() => {
    Reflect.deleteProperty(globalThis, "showDirectoryPicker");
    Reflect.deleteProperty(globalThis, "showOpenFilePicker");
  });
  await letPagesIn(stage);
  const disk = mkdtempSync(join(stage.dir, "disk-"));
  mkdirSync(join(disk, "dataset/deep"), { recursive: true });
  const large = randomBytes(40 * MIB);
  writeFileSync(join(disk, "dataset/deep/weights.bin"), large);
  writeFileSync(join(disk, "dataset/config.json"), "{}");
  writeFileSync(join(disk, "unrelated.txt"), "x");
  await openSignedIn(page, stage);
  await armFault(stage.store, SLOW);
  await openUpload(page, stage);
  const choosing = page.waitForEvent("filechooser");
  await page.getByRole("dialog").getByRole("button", { name: "Choose a folder" }).click();
  await (await choosing).setFiles(join(disk, "dataset"));
  await expect(page.getByRole("dialog")).toContainText("2 files");
  await page.getByRole("dialog").getByRole("button", { name: "Upload", exact: true }).click();
  await expect.poll(() => succeeded(stage, "UploadPart")).toBeGreaterThanOrEqual(2);

  await page.reload();
  const upload = line(page, "2 files");
  await expect(upload).toContainText("folder needed");
  await clearFaults(stage.store);
  // The folder above it: what is not wanted is left alone.
  const again = page.waitForEvent("filechooser");
  await upload.getByRole("button", { name: "Choose dataset again" }).click();
  await (await again).setFiles(disk);
  await expect(upload).toContainText("done");
  expect(await succeeded(stage, "UploadPart")).toBe(Math.ceil((40 * MIB) / PART));
  expect(await hashObject(stage, "up/dataset/deep/weights.bin")).toBe(createHash("sha256").update(large).digest("hex"));
});
