import { armFault, clearFaults } from "../stage/store-control.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

/** The bucket is slow, then refuses, then is well again; at each moment the pages say what is so, and why. */

const MIB = 1024 ** 2;
// What the store refuses, the hub passes on, and the browser reports.
test.use({ expectedErrors: [/5\d\d|403/] });

test("a slow and failing bucket is told in plain words, first of all on the overview, and so is its recovery", async ({
  page,
  stage,
}) => {
  await stage.startNode({
    name: "gpu-1",
    run: "steady",
    flags: ["--settle", "100ms", "--retry-for", "8s", "--stall-after", "5s", "--part-size", "5MiB"],
  });
  const folder = stage.folderOf("gpu-1");
  writeCheckpoint({ folder, step: 100, modelBytes: MIB, optimizerBytes: 0, loss: 2 });
  await openSignedIn(page, stage);
  await expect(page.getByText(/saved steady step 100/)).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("you would lose");
  await expect(page.getByRole("list", { name: "What is wrong" })).toHaveCount(0);
  await expect(page.getByText("Nothing is wrong", { exact: false })).toBeVisible();

  // Slow: a rate and a time left that is no promise, or how long it has stood still; never a speed that is over.
  await armFault(stage.store, { op: "UploadPart", action: { kind: "rate", side: "request", bytesPerSecond: 400_000 } });
  writeCheckpoint({ folder, step: 200, modelBytes: 24 * MIB, optimizerBytes: 0, loss: 1 });
  const sentence = page.getByRole("listitem", { name: "upload of steady step 200 on gpu-1" });
  await expect(sentence).toContainText(/Mbps · (about|1 s left|time left not known yet)|stalled \d+ s/);
  await expect(page.getByText(/in \d+ files? (is|are) not safe yet/)).toBeVisible();

  // Refusing: said where everybody looks first, with the reason in words, its code folded.
  await clearFaults(stage.store);
  for (const op of ["UploadPart", "PutObject", "CreateMultipartUpload"])
    await armFault(stage.store, { op, action: { kind: "error", status: 503, code: "SlowDown" } });
  const wrong = page.getByRole("list", { name: "What is wrong" });
  await expect(wrong.getByRole("link", { name: /node cannot transfer now/ })).toBeVisible();
  await expect(page).toHaveTitle(/▲ 1 node cannot transfer now · Tidemark/);
  await expect(page.getByRole("table", { name: "Nodes, worst first" }).getByRole("row").nth(1)).toContainText("gpu-1");
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/failing-bucket.png", fullPage: true });
  await showAs(page, "narrow");
  await expectSound(page);
  await page.screenshot({ path: "test-results/failing-bucket-narrow.png", fullPage: true });
  await page.setViewportSize({ width: 1440, height: 900 });
  await wrong.getByRole("link", { name: /node cannot transfer now/ }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Transfers" })).toBeVisible();

  // The same bucket from the inside: not permitted, failed, and nothing there are three different things.
  await armFault(stage.store, { op: "ListObjectsV2", action: { kind: "error", status: 403, code: "AccessDenied" } });
  await page.goto(`${stage.hub.url}/buckets/${stage.profileId}`);
  await expect(page.getByText("s3:ListBucket").first()).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/not-permitted.png" });
  await clearFaults(stage.store);
  await page.getByRole("button", { name: "Try again" }).first().click();
  await expect(page.getByRole("grid", { name: "Objects" })).toBeVisible();
  await page.goto(`${stage.hub.url}/buckets/${stage.profileId}?begins=no-such-thing`);
  await expect(page.getByText("Nothing here begins with “no-such-thing”")).toBeVisible();

  // Well again: nobody had to do anything.
  await page.goto(stage.hub.url);
  await expect(page.getByText(/saved steady step 200/)).toBeVisible();
  await expect(wrong.getByRole("link", { name: /cannot transfer/ })).toHaveCount(0);
});
