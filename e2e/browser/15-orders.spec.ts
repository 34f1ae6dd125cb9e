import { expect, expectSound, openSignedIn, overflow, seriousFaults, showAs, test } from "./story.ts";

/** Nodes are asked to do things: one from its page, several from the list; and what their links did is read afterwards. */

test("a node is paused, measured and limited from its page, two are resumed from the list, and the link's history fills", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-1", run: "llama" });
  await stage.startNode({ name: "gpu-2", run: "mistral" });
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/nodes`);
  await page.getByRole("link", { name: "gpu-1" }).click();
  const orders = page.getByRole("region", { name: "Commands" });
  await expect(orders.getByText("No commands sent.")).toBeVisible();

  await page.getByRole("button", { name: "Send command…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Send command to gpu-1");
  await dialog.getByText("The same from a script").click();
  await expect(dialog.getByLabel("command line", { exact: true })).toContainText('"kind":"hold"');
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Pause" }).click();
  await expect(dialog).toBeHidden();
  const hold = orders.getByRole("listitem").filter({ hasText: "Hold everything" });
  await expect(hold).toContainText("done");

  await page.getByRole("button", { name: "Send command…" }).click();
  await dialog.getByRole("combobox", { name: "Command" }).click();
  await page.getByRole("option", { name: "Limit bandwidth" }).click();
  await dialog.getByRole("button", { name: "Limit bandwidth" }).click();
  await expect(dialog).toContainText("Say a limit up, down, or both");
  await dialog.getByLabel("Up").fill("fast");
  await expect(dialog).not.toContainText("Say a limit up, down, or both");
  await dialog.getByLabel("Up").press("Enter");
  await expect(dialog).toContainText("a rate looks like 20Mbit");
  await dialog.getByLabel("Up").fill("80Mbit");
  await dialog.getByRole("button", { name: "Limit bandwidth" }).click();
  await expect(dialog).toBeHidden();
  await expect(orders.getByRole("listitem").filter({ hasText: "Limit up to 80.0 Mbps" })).toContainText("done");

  await page.getByRole("button", { name: "Send command…" }).click();
  await dialog.getByRole("combobox", { name: "Command" }).click();
  await page.getByRole("option", { name: "Measure the link" }).click();
  await dialog.getByRole("button", { name: "Measure the link" }).click();
  await expect(orders.getByRole("listitem").filter({ hasText: "Measure the link" })).toContainText("done");
  await page.reload();
  const history = page.getByRole("table", { name: "What this link did" });
  await expect(history.getByRole("row").filter({ hasText: "round trip" })).toContainText("ms");
  await page.getByText("Each probe and transfer").click();
  await expect(page.getByRole("listitem").filter({ hasText: "Probe" }).filter({ hasText: "RTT" })).toBeVisible();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  expect((await download).suggestedFilename()).toMatch(/\.csv$/);
  expect(await seriousFaults(page)).toEqual([]);

  await page.goto(`${stage.hub.url}/nodes`);
  const head = page.getByRole("columnheader", { name: "Node" });
  await head.getByRole("button").click();
  await expect(head).toHaveAttribute("aria-sort", "ascending");
  await head.getByRole("button").click();
  await expect(head).toHaveAttribute("aria-sort", "descending");
  await expect(page).toHaveURL(/sort=-node/);
  await expect(page.getByRole("row").nth(1)).toContainText("gpu-2");
  await page.getByRole("checkbox", { name: "Choose gpu-1" }).check();
  await page.getByRole("button", { name: "Choose all 2" }).click();
  await expect(page.getByText("2 chosen")).toBeVisible();
  await page.getByRole("button", { name: "Send command…" }).click();
  await expect(dialog).toContainText("Send command to 2 nodes");
  await dialog.getByRole("combobox", { name: "Command" }).click();
  await page.getByRole("option", { name: "Resume" }).click();
  await dialog.getByRole("button", { name: "Resume" }).click();
  await expect(dialog).toBeHidden();
  const released = async () => {
    const { rows } = await stage.client.commands.list.query({});
    return rows.filter(({ kind, state }) => kind === "release" && state === "done").map(({ nodeName }) => nodeName);
  };
  await expect.poll(async () => (await released()).toSorted()).toEqual(["gpu-1", "gpu-2"]);

  await showAs(page, "narrow");
  await expectSound(page);
  await page.getByRole("link", { name: "gpu-1" }).click();
  await expect(page.getByRole("region", { name: "Commands" })).toBeVisible();
  expect(await overflow(page)).toBe(0);
});
