import type { Page } from "@playwright/test";
import type { NodeState } from "#protocol/fleet/node-status.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, test } from "./story.ts";

/** A worker stops without a word: every page says the same of it, at each stage, and so does the API. */

const MIB = 1024 ** 2;

interface Pages {
  overview: Page;
  nodes: Page;
  node: Page;
  run: Page;
  transfers: Page;
}

interface Stage {
  /** How the overview counts it, beside how many nodes are heard. */
  counted: RegExp;
  heard: string;
  /** On the pill of the node, in the list and on its page. */
  pill: RegExp;
  headline: RegExp;
  runPill: RegExp;
  writer: RegExp;
  moves: "now" | "waiting";
}

/** All pages at once: each is open while it happens, none is loaded again. */
async function expectStage(pages: Pages, stage: Stage): Promise<void> {
  const { overview, nodes, node, run, transfers } = pages;
  const count = (label: string) => transfers.getByRole("button", { name: new RegExp(`^${label} ?\\d+$`) });
  await Promise.all([
    expect(overview.getByRole("definition").first()).toHaveText(`${stage.heard} of 2 nodes`),
    expect(overview.getByRole("term").first()).toContainText(stage.counted),
    expect(nodes.getByRole("row").filter({ hasText: "gpu-1" })).toContainText(stage.pill),
    expect(node.getByRole("main")).toContainText(stage.pill),
    expect(node.getByRole("paragraph").filter({ hasText: stage.headline })).toBeVisible(),
    expect(node.getByRole("row").filter({ hasText: "llama" }).first()).toContainText(stage.runPill),
    expect(run.getByRole("main")).toContainText(stage.runPill),
    expect(run.getByRole("main")).toContainText(stage.writer),
    expect(count("Now")).toHaveText(stage.moves === "now" ? "Now1" : "Now0"),
    expect(count("Waiting")).toHaveText(stage.moves === "now" ? "Waiting0" : "Waiting1"),
  ]);
}

test("a node that stops is unconfirmed, then silent, then heard again, on every page alike", async ({
  page,
  stage,
}) => {
  const worker = await stage.startNode({ name: "gpu-1", run: "llama", flags: ["--limit-up", "500kB"] });
  await stage.startNode({ name: "gpu-2", run: "idle" });
  const folder = stage.folderOf("gpu-1");
  writeCheckpoint({ folder, step: 50, modelBytes: 4096, optimizerBytes: 0, loss: 2 });
  await waitComplete(stage, "llama", { step: 50 });
  writeCheckpoint({ folder, step: 100, modelBytes: 200 * MIB, optimizerBytes: 0, loss: 1 });
  const rowOf = async (name: string) => (await stage.client.nodes.list.query()).find((one) => one.name === name);
  await waitUntil("the upload runs", async () => (await rowOf("gpu-1"))?.activeTransfers === 1);

  await openSignedIn(page, stage);
  const open = async (path: string): Promise<Page> => {
    const other = await page.context().newPage();
    await other.goto(`${stage.hub.url}${path}`);
    await expect(other.getByRole("heading", { level: 1 })).toBeVisible();
    return other;
  };
  const pages: Pages = {
    overview: page,
    nodes: await open("/nodes"),
    node: await open("/nodes/gpu-1"),
    run: await open("/runs/llama"),
    transfers: await open("/transfers"),
  };
  const stateIs = async (state: NodeState) => {
    const [row, run] = await Promise.all([rowOf("gpu-1"), stage.client.runs.get.query({ run: "llama" })]);
    return row?.state === state && run.writerState === state;
  };

  await expectStage(pages, {
    heard: "2",
    counted: /1 uploading/,
    pill: /uploading/,
    headline: /^If gpu-1 died now, you would lose/,
    runPill: /uploading/,
    writer: /written by gpu-1, epoch 1/,
    moves: "now",
  });
  await expect(pages.transfers.getByRole("listitem").filter({ hasText: "step 100" })).toContainText(/bps/);

  // As a machine that is frozen or cut off: it takes its leave of nobody.
  process.kill(-worker.pid, "SIGSTOP");
  const unheard = {
    heard: "1",
    headline: /^No report from gpu-1 for \d+ s\. If it is gone, you lost/,
    moves: "waiting",
  } as const;
  await expectStage(pages, {
    ...unheard,
    counted: /1 unconfirmed/,
    pill: /unconfirmed \d+ s/,
    runPill: /unconfirmed/,
    writer: /last written by gpu-1 \(unconfirmed\)/,
  });
  await expect(pages.overview.getByRole("link", { name: /node is late with its report/ })).toBeVisible();
  expect(await stateIs("unconfirmed")).toBe(true);

  await expectStage(pages, {
    ...unheard,
    counted: /1 silent/,
    pill: /silent \d+ s/,
    runPill: /lost/,
    writer: /last written by gpu-1 \(silent\)/,
  });
  expect(await stateIs("silent")).toBe(true);
  // The one thing that is safe is advised, and what else there is stands on a disk.
  const advice = pages.node.getByRole("main");
  await expect(advice).toContainText("llama can go on from step 50 on another node.");
  await expect(advice).toContainText(/Step 100 \(.* not safe\) is only on the disk of gpu-1/);
  for (const one of Object.values<Page>({ ...pages }))
    await expect(one.getByRole("main")).not.toContainText(/uploading \d/);
  for (const one of Object.values<Page>({ ...pages })) await expectSound(one);

  process.kill(-worker.pid, "SIGCONT");
  await expectStage(pages, {
    heard: "2",
    counted: /1 (uploading|behind)/,
    pill: /uploading|behind/,
    headline: /^If gpu-1 died now, you would lose/,
    runPill: /uploading|behind/,
    writer: /written by gpu-1, epoch 1/,
    moves: "now",
  });
  expect(await stateIs("online")).toBe(true);
});
