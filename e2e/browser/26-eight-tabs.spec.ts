import type { Page } from "@playwright/test";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, openSignedIn, test } from "./story.ts";

/**
 * A browser keeps six connections to a server at most: if each page held a stream of its own, the seventh could ask for
 * nothing any more.
 */

const PAGES = ["/", "/nodes", "/runs", "/transfers", "/events", "/buckets", "/nodes", "/"] as const;

test("eight tabs work at once on one stream, and the other seven go on when the one that keeps it is closed", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-1", run: "llama" });
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 1, modelBytes: 4096, optimizerBytes: 0, loss: 2 });
  await waitComplete(stage, "llama");
  const context = page.context();
  /** The tabs that have opened a stream, in the order in which they did. */
  const streams: Page[] = [];
  context.on("request", (request) => {
    if (new URL(request.url()).pathname === "/api/trpc/live.watch") streams.push(request.frame().page());
  });
  await openSignedIn(page, stage);
  const tabs: Page[] = [page];
  for (const path of PAGES.slice(1)) {
    const tab = await context.newPage();
    tabs.push(tab);
    await tab.goto(`${stage.hub.url}${path}`);
  }
  for (const tab of tabs) await expect(tab.getByText(/^live/).first()).toBeVisible();
  expect(streams).toEqual([page]);
  const nodesListed = tabs.filter((_, at) => PAGES[at] === "/nodes");
  const row = (tab: Page, name: string) => tab.getByRole("table", { name: "Nodes" }).getByRole("link", { name });
  for (const tab of nodesListed) await expect(row(tab, "gpu-1")).toBeVisible();

  // What happens to a node shows in all of them.
  await stage.startNode({ name: "gpu-2", run: "llama" });
  for (const tab of nodesListed) await expect(row(tab, "gpu-2")).toBeVisible();
  for (const tab of tabs.filter((_, at) => PAGES[at] === "/")) {
    const failingFirst = tab.getByRole("table", { name: "Nodes, worst first" });
    await expect(failingFirst.getByRole("link", { name: "gpu-2" })).toBeVisible();
  }

  // Each of them can ask and act: nothing waits for a free connection.
  await Promise.all(
    tabs.map(async (tab) => {
      await tab.keyboard.press("g");
      await tab.keyboard.press("n");
      await expect(row(tab, "gpu-1")).toBeVisible();
    }),
  );

  await page.close();
  const rest = tabs.slice(1);
  await waitUntil("another tab opens the stream", async () => streams.length === 2);
  expect(rest).toContain(streams[1]);
  await stage.startNode({ name: "gpu-3", run: "llama" });
  for (const tab of rest) await expect(row(tab, "gpu-3")).toBeVisible();
  for (const tab of rest) await expect(tab.getByText(/^live/).first()).toBeVisible();
  expect(streams.length).toBe(2);
});
