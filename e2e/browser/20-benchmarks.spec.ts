import { expect, expectSound, seriousFaults, showAs, signInByPage, test } from "./story.ts";

/** Two nodes compare engines at a bucket: a key of its own is given, the plan is read, the tables fill, and two are compared. */

// A store that makes no keys is asked for one.
test.use({ expectedErrors: [/501 .*benchmarks\.setKey/] });

test("an admin allows engines at a bucket, two nodes compare them, and what they found is read, exported and compared", async ({
  page,
  stage,
}) => {
  for (const [name, region] of [
    ["gpu-1", "us-east"],
    ["gpu-2", "eu"],
  ] as const) {
    await stage.startNode({ name, run: name, flags: ["--label", `region=${region}`] });
  }
  await signInByPage(page, stage);
  await page.getByRole("link", { name: "Benchmarks" }).click();
  await expect(page.getByText("No benchmark yet")).toBeVisible();
  const keys = page.getByRole("region", { name: "Benchmark keys" });
  await expect(keys).toContainText("none");
  expect(await seriousFaults(page)).toEqual([]);

  await keys.getByRole("button", { name: "Set the benchmark key of stage bucket" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("radio", { name: "Made by the store for each turn" })).toBeChecked();
  await dialog.getByRole("button", { name: "Try and save" }).click();
  await expect(dialog).toContainText("The store does not support this");
  await dialog.getByRole("radio", { name: "A key of its own" }).check();
  await dialog.getByLabel("Access key").fill(stage.store.accessKey);
  await dialog.getByLabel("Secret").fill(stage.store.secretKey);
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Save key" }).click();
  await expect(keys).toContainText(`key …${stage.store.accessKey.slice(-4)}`);

  await page.getByRole("button", { name: "New benchmark…" }).click();
  await dialog.getByRole("button", { name: "Start" }).click();
  await expect(dialog).toContainText("Choose a bucket.");
  await expect(dialog.getByRole("checkbox", { name: "stage bucket" })).toBeFocused();
  await dialog.getByLabel("Name").fill("Tidemark and the SDK");
  await dialog.getByRole("checkbox", { name: "stage bucket" }).check();
  await expect(dialog).not.toContainText("Choose a bucket.");
  // Chosen is what can run; the others say what they need.
  await expect(dialog.getByRole("checkbox", { name: "AWS SDK (JavaScript)" })).toBeChecked();
  const rclone = dialog.getByRole("checkbox", { name: "rclone, tuned" });
  await expect(rclone).not.toBeChecked();
  await expect(rclone).toHaveAccessibleDescription("needs rclone on a node");
  await dialog.getByRole("checkbox", { name: "Tidemark, by itself" }).uncheck();
  await dialog.getByLabel("Size", { exact: true }).fill("fast");
  await dialog.getByRole("button", { name: "Start" }).click();
  await expect(dialog.getByText("a size looks like")).toBeVisible();
  await dialog.getByLabel("Size", { exact: true }).fill("6MB");
  await dialog.getByLabel("Part size").fill("5MiB");
  const plan = dialog.getByRole("status", { name: "What it would be" });
  await expect(plan).toContainText("2 nodes, 8 cases");
  await expect(plan).not.toContainText("no benchmark key");
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Start" }).click();

  await expect(page).toHaveURL(/\/benchmarks\/[0-9a-f]{32}$/);
  await expect(page.getByRole("heading", { name: "Tidemark and the SDK" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Cancel…" })).toBeHidden();
  const engines = page.getByRole("table", { name: "Engines" });
  await expect(engines.getByRole("row").filter({ hasText: "AWS SDK" })).toContainText("bps");
  await expect(engines.getByRole("row").filter({ hasText: "Tidemark" })).toContainText("none");
  await expect(page.getByRole("table", { name: "Maximum of each node" }).getByRole("row")).toHaveCount(3);
  await expect(page.getByRole("img", { name: /^Down: 2 nodes, P10/ })).toBeVisible();
  const regions = page.getByRole("table", { name: "Regions" });
  await expect(regions.getByRole("row").filter({ hasText: "us-eastto us-east-1" })).toContainText("ms");
  await expect(page.getByRole("table", { name: "Links" }).getByRole("row").filter({ hasText: "gpu-2" })).toContainText(
    "done",
  );
  const cases = page.getByRole("region", { name: "Cases" });
  await expect(cases.getByRole("listitem")).toHaveCount(8);
  await cases.getByRole("button", { name: "Failed" }).click();
  await expect(cases).toContainText("None failed.");
  await expect(page).toHaveURL(/cases=failed/);
  await cases.getByRole("button", { name: "All" }).click();

  for (const format of ["CSV", "JSON"]) {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: format }).click();
    expect((await download).suggestedFilename()).toMatch(new RegExp(`\\.${format.toLowerCase()}$`));
  }
  expect(await seriousFaults(page)).toEqual([]);

  const [first] = await stage.client.benchmarks.list.query();
  if (first === undefined) throw new Error("there is none");
  const { settings } = await stage.client.benchmarks.get.query({ id: first.id });
  const second = "second-benchmark-of-this-story";
  await stage.client.benchmarks.start.mutate({
    id: second,
    name: "Again, to be cancelled",
    targets: { scope: { nodes: "gpu-1", runs: null, labels: {} }, sample: null, profileIds: [stage.profileId] },
    settings: { ...settings, rounds: 20 },
    perBucket: 1,
    seed: 1,
  });
  await page.goto(`${stage.hub.url}/benchmarks/${second}`);
  await expect(page.getByRole("region", { name: "Cases" }).getByRole("listitem").first()).toBeVisible();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await dialog.getByRole("button", { name: "Cancel it" }).click();
  await expect(page.getByText("cancelled", { exact: true }).first()).toBeVisible();
  await page.getByRole("combobox", { name: "Compare with" }).selectOption(first.id);
  await expect(page.getByRole("table", { name: "Compared" })).toContainText("%");
  await expect(page).toHaveURL(new RegExp(`with=${first.id}`));

  await page.goto(`${stage.hub.url}/benchmarks/${first.id}`);
  await expect(engines).toBeVisible();
  await showAs(page, "narrow");
  await expectSound(page);
  await page.goto(`${stage.hub.url}/benchmarks`);
  await expect(page.getByRole("table", { name: "Benchmarks" }).getByRole("row")).toHaveCount(3);
  await expectSound(page);
});
