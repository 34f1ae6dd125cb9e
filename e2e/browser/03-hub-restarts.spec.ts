import { readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, openSignedIn, seriousFaults, test } from "./story.ts";

// While the hub is away the browser itself reports each connection that was refused.
test.use({
  expectedErrors: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/],
});

test("the hub is killed under load: the page says so, and recovers without a reload", async ({ page, stage }) => {
  await stage.startNode({ name: "gpu-1", run: "steady", flags: ["--limit-up", "4MB"] });
  // With something safe already, the first page is about what is not.
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 50, modelBytes: 4096, optimizerBytes: 0, loss: 2 });
  await openSignedIn(page, stage);
  await expect(page.getByText(/saved steady step 50/).first()).toBeVisible();
  await expect(page.getByText(/^live/).first()).toBeVisible();
  let loads = 0;
  page.on("load", () => (loads += 1));
  writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 100,
    modelBytes: 48 * 1024 ** 2,
    optimizerBytes: 0,
    loss: 1,
  });
  const stored = async () => (await readCounters(stage.store)).receivedBytes;
  const before = await stored();
  await waitUntil("the upload runs", async () => (await stored()) > before + 4 * 1024 ** 2);

  await stage.killHub();
  await expect(page.getByText(/last update \d+ s ago/i).first()).toBeVisible();
  // What stands there is from then, and looks like it.
  const main = page.getByRole("main");
  await expect(main).toHaveAttribute("data-stale", "true");
  await expect(page.getByText("not live").first()).toBeVisible();
  const number = page.getByRole("heading", { level: 1 }).locator(".dim-when-stale");
  expect(await number.evaluate((element) => getComputedStyle(element).filter)).toContain("grayscale");
  expect(await seriousFaults(page)).toEqual([]);
  await stage.startHubAgain();
  await expect(page.getByText(/^live/).first()).toBeVisible();
  await expect(main).toHaveAttribute("data-stale", "false");
  await expect(page.getByText(/saved steady step 100/).first()).toBeVisible();
  expect(loads).toBe(0);
});
