import { CreateMultipartUploadCommand, PutBucketVersioningCommand } from "@aws-sdk/client-s3";
import type { Page } from "@playwright/test";
import { deleteObject } from "#storage/s3/objects.ts";
import type { Stage } from "../stage/open-stage.ts";
import { serveOdd } from "../stage/odd-objects.ts";
import { addProfile } from "../stage/provision.ts";
import { clientOf, putAll } from "./browser-files.ts";
import { expect, overflow, seriousFaults, openSignedIn, test } from "./story.ts";

/** A bucket from the inside: large, hostile, looked at, searched, and changed with the effect shown first. */

const KEYS = 12_000;
const HOSTILE = [
  "odd/<img src=x onerror=alert(1)>.html",
  "odd/\u202Etxt.exe",
  "odd/tab\tand\u0001control.txt",
  `odd/${"long".repeat(200)}.txt`,
];

test.use({ stageOptions: { store: { flags: ["--fill", `bulk/:${KEYS}`] } } });

async function startUpload(stage: Stage, key: string): Promise<void> {
  const client = clientOf(stage);
  await client.send(new CreateMultipartUploadCommand({ Bucket: stage.store.bucket, Key: key }));
  client.destroy();
}

const grid = (page: Page) => page.getByRole("grid", { name: "Objects" });
const drawn = (page: Page) => page.locator("tr[id^=row-]").count();

async function openBucket(page: Page, stage: Stage, query = ""): Promise<void> {
  await page.goto(`${stage.hub.url}/buckets/${stage.profileId}${query}`);
  await expect(grid(page)).toBeVisible();
}

test("twelve thousand keys scroll with a screenful of rows, from the keyboard too", async ({ page, stage }) => {
  await putAll(stage, { "a/note.txt": "hello", "a/config.json": '{"lr": 0.1}' });
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/buckets`);
  await page.getByRole("link", { name: "Browse stage bucket" }).click();
  await expect(grid(page)).toBeVisible();
  await grid(page).focus();
  // Past the hub's own folder with its mark, and past a/.
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/in=bulk%2F/);
  await expect(page.getByRole("button", { name: "0000000.bin", exact: true }).last()).toBeVisible();
  await expect(grid(page)).toBeFocused();
  const all = page.getByText(`${KEYS.toLocaleString("en-US")} items`);
  let most = 0;
  await expect
    .poll(async () => {
      await page.keyboard.press("End");
      most = Math.max(most, await drawn(page));
      return all.isVisible();
    })
    .toBe(true);
  expect(most).toBeLessThan(80);
  await page.keyboard.press("End");
  await expect(page.getByText(`00${KEYS - 1}.bin`, { exact: true })).toBeVisible();
  expect(await drawn(page)).toBeLessThan(80);
  await page.keyboard.press("Home");
  await expect(page.getByText("0000000.bin", { exact: true })).toBeVisible();
  await page.keyboard.press("Backspace");
  await expect(page).not.toHaveURL(/in=/);
  await expect(page.getByRole("button", { name: "bulk/", exact: true })).toBeVisible();
  await page.goBack();
  await expect(page).toHaveURL(/in=bulk%2F/);

  await page.keyboard.press("/");
  await page.keyboard.type("001199");
  await expect(page.getByText("10 items")).toBeVisible();
  await expect(page.getByText("0011990.bin", { exact: true })).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
});

test("an object is looked at beside the list, and search says how far it looked", async ({ page, stage }) => {
  await putAll(stage, { "a/deep/note.txt": "hello <b>there</b>", "a/config.json": '{"lr": 0.1}' });
  await openSignedIn(page, stage);
  await openBucket(page, stage, "?in=a/deep/");
  await page.getByRole("button", { name: "note.txt", exact: true }).click();
  const object = page.getByRole("region", { name: "Object" });
  await expect(object.getByLabel("Beginning of the text")).toHaveText("hello <b>there</b>");
  await object.getByText("Copy as address, command or curl").click();
  await expect(object.getByLabel("s3:// address", { exact: true })).toHaveText(
    `s3://${stage.store.bucket}/a/deep/note.txt`,
  );
  expect(await seriousFaults(page)).toEqual([]);
  await object.getByRole("button", { name: "Share link…" }).click();
  await page.getByRole("button", { name: "Make link" }).click();
  const url = (await page.getByLabel("share link", { exact: true }).textContent()) ?? "";
  expect(await (await fetch(url)).text()).toBe("hello <b>there</b>");
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Close", exact: true }).last().click();

  await openBucket(page, stage);
  await page.getByLabel("Search all names below this folder").fill("config");
  await expect(page.getByText("a/config.json", { exact: true })).toBeVisible();
  await expect(page.getByText(/looked at 12,0\d\d objects in \d+ requests: all of it\./)).toBeVisible();
  await page.reload();
  await expect(page.getByText("a/config.json", { exact: true })).toBeVisible();
});

test("names that are not UTF-8 have no row, and are counted and named on every list", async ({ page, stage }) => {
  await putAll(stage, { "u/caf@": "x", "u/fine": "x" });
  await startUpload(stage, "u/caf@");
  await startUpload(stage, "u/fine");
  // As Ceph writes a key that was put with a byte of Latin-1.
  const odd = await serveOdd(stage.store, (answer) =>
    answer.body.includes("caf%40")
      ? { ...answer, body: Buffer.from(answer.body.toString().replaceAll("caf%40", "caf%E9")) }
      : answer,
  );
  try {
    const profileId = await addProfile(stage.client, {
      name: "odd names",
      store: { ...stage.store, endpoint: odd.endpoint },
    });
    await openSignedIn(page, stage);
    const said = page.getByText(/1 name is not valid UTF-8: u\/caf\ufffd/);
    await page.goto(`${stage.hub.url}/buckets/${profileId}?in=u/`);
    await expect(page.getByText("fine", { exact: true })).toBeVisible();
    await expect(said).toHaveCount(1);
    await page.getByRole("button", { name: "Calculate size" }).click();
    await expect(page.getByText(/1 objects, 1 B in all/)).toContainText("1 name is not valid UTF-8");
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.getByLabel("Search all names below this folder").fill("fine");
    await expect(page.getByText(/: all of it\./)).toBeVisible();
    await expect(said).toHaveCount(1);
    await page.goto(`${stage.hub.url}/buckets/${profileId}?in=u/&show=uploads`);
    await expect(page.getByText("u/fine", { exact: true })).toBeVisible();
    await expect(said).toHaveCount(1);
    expect(await seriousFaults(page)).toEqual([]);
  } finally {
    await odd.close();
  }
});

test("hostile names are shown as what they are, wide and narrow", async ({ page, stage }) => {
  await putAll(stage, Object.fromEntries(HOSTILE.map((key) => [key, "<script>alert(1)</script>"])));
  await openSignedIn(page, stage);
  for (const [theme, width] of [
    ["light", 1440],
    ["dark", 360],
  ] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 900 });
    await openBucket(page, stage, "?in=odd/");
    await expect(page.getByText("4 items")).toBeVisible();
    await expect(page.getByRole("button", { name: "\\u{202e}txt.exe", exact: true })).toBeVisible();
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await page.getByRole("button", { name: "<img src=x onerror=alert(1)>.html", exact: true }).click();
    await expect(page.getByLabel("Beginning of the text")).toHaveText("<script>alert(1)</script>");
    expect(await page.locator("img").count()).toBe(0);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await seriousFaults(page)).toEqual([]);
    await page.screenshot({ path: test.info().outputPath(`hostile-${theme}.png`) });
  }
});

test("copies, moves and deletions show their effect first, and run on the hub", async ({ page, stage }) => {
  await putAll(stage, { "a/1.txt": "one", "a/2.txt": "two", "a/deep/3.txt": "three" });
  await openSignedIn(page, stage);
  await openBucket(page, stage, "?in=a/");
  await grid(page).focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowDown");
  const chosen = page.getByRole("region", { name: "Chosen" });
  await expect(chosen).toContainText("2 objects, 6 B and 1 folder with all that is below");
  await chosen.getByRole("button", { name: "Copy…" }).click();
  await page.getByLabel("To the folder").fill("b");
  await page.getByRole("button", { name: "Show what would happen" }).click();
  const effect = page.getByRole("region", { name: "What would happen" });
  await expect(effect).toContainText("3 objects, 11 B");
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: test.info().outputPath("plan.png") });
  await page.getByRole("button", { name: "Copy 3 objects" }).click();
  const work = page.getByRole("region", { name: "Work in buckets" });
  await expect(work).toContainText("Copy 3 objects from a/ → b/");
  await expect(work.getByRole("img", { name: "done" })).toBeVisible();

  await openBucket(page, stage, "?in=b/");
  await expect(page.getByText("3 items")).toBeVisible();
  await page.getByRole("button", { name: "Choose all", exact: true }).click();
  await chosen.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Show what would happen" }).click();
  await expect(effect).toContainText("a deletion cannot be undone");
  await page.getByRole("button", { name: "Delete 3 objects" }).click();
  await expect(work).toContainText("Delete 3 objects from b/");
  await expect(work.getByRole("img", { name: "done" })).toHaveCount(2);
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(page.getByText("Nothing is in this folder")).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.goto(`${stage.hub.url}/transfers`);
  await expect(work).toContainText("Delete 3 objects from b/");
  await page.setViewportSize({ width: 360, height: 900 });
  expect(await overflow(page)).toBeLessThanOrEqual(0);
});

test("an older version and what was deleted are brought back, with the effect shown first", async ({ page, stage }) => {
  const client = clientOf(stage);
  const { bucket } = stage.store;
  const VersioningConfiguration = { Status: "Enabled" } as const;
  await client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }));
  await putAll(stage, { "kept/notes.txt": "the first text" });
  await putAll(stage, { "kept/notes.txt": "second" });
  await putAll(stage, { "kept/gone-1.txt": "one", "kept/gone-2.txt": "two" });
  for (const key of ["kept/gone-1.txt", "kept/gone-2.txt"]) await deleteObject(client, { bucket, key });
  client.destroy();
  await openSignedIn(page, stage);
  await openBucket(page, stage, "?in=kept/");
  await page.getByRole("button", { name: "Versions" }).click();
  const list = page.getByRole("table", { name: "Versions" });
  const effect = page.getByRole("region", { name: "What would happen" });
  const work = page.getByRole("region", { name: "Work in buckets" });
  await expect(list.getByText("deleted")).toHaveCount(2);
  await list.getByRole("button", { name: "Bring back… notes.txt, 14 B" }).click();
  await page.getByRole("button", { name: "Show what would happen" }).click();
  await expect(effect).toContainText("An older version is copied on top of 1 object");
  await expect(effect).toContainText("What it has now becomes an old version");
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: test.info().outputPath("bring-back.png") });
  await page.getByRole("button", { name: "Bring back 1 object" }).click();
  await expect(work).toContainText("Bring back 1 object in kept/");
  await expect(work.getByRole("img", { name: "done" })).toBeVisible();
  // The list shows what has come of it by itself.
  await expect(list.getByRole("button", { name: "Bring back… notes.txt, 14 B" })).toHaveCount(1);
  await expect(list.getByRole("button", { name: "Bring back… notes.txt, 6 B" })).toHaveCount(1);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 360, height: 900 });
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.screenshot({ path: test.info().outputPath("versions-dark.png") });
  await page.getByRole("button", { name: "Undelete all of them…" }).click();
  await page.getByRole("button", { name: "Show what would happen" }).click();
  await expect(effect).toContainText("The deletion of 2 objects is taken back");
  await page.getByRole("button", { name: "Bring back 2 objects" }).click();
  await expect(list.getByText("deleted")).toHaveCount(0);
  expect(await seriousFaults(page)).toEqual([]);
});

test("versions and unfinished uploads have their place", async ({ page, stage }) => {
  await putAll(stage, { "a/1.txt": "one" });
  await openSignedIn(page, stage);
  await openBucket(page, stage, "?in=a/");
  await page.getByRole("button", { name: "Versions" }).click();
  await expect(page.getByText("This store keeps no versions")).toBeVisible();
  await page.getByRole("button", { name: "Unfinished uploads" }).click();
  await expect(page.getByText("No unfinished upload")).toBeVisible();
  await startUpload(stage, "a/huge.bin");
  await page.reload();
  await expect(page.getByRole("row").filter({ hasText: "a/huge.bin" })).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Abort the upload of a/huge.bin" }).click();
  await page.getByRole("button", { name: "Abort", exact: true }).click();
  await expect(page.getByText("No unfinished upload")).toBeVisible();
});
