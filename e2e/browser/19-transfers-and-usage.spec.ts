import { runName } from "#protocol/base/names.ts";
import type { NodeEvent, ProgressReport, TransferProgress } from "#protocol/wire/reports.ts";
import { enrolRogue, type RogueNode } from "../stage/rogue-node.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, seriousFaults, signInByPage, test } from "./story.ts";

/** What moves between nodes and buckets: steered from the page, seen part by part, found again afterwards. */

const MIB = 1024 ** 2;
const run = runName.parse("llama");

/** Says to the hub, as a node does, what moves. */
function teller(node: RogueNode) {
  let seq = 0;
  return async (transfer: Partial<TransferProgress>) => {
    const progress: TransferProgress = {
      id: "transfer-live-1",
      direction: "upload",
      state: "running",
      checkpointId: "checkpoint-live-1",
      run: runName.parse("mistral"),
      step: 900,
      bytesDone: 40 * MIB,
      bytesTotal: 100 * MIB,
      filesDone: 0,
      filesTotal: 1,
      currentPath: "model.safetensors",
      bytesPerSecond: 4 * MIB,
      startedAt: Date.now() - 10_000,
      connections: 4,
      retries: 1,
      pieces: "####>>....",
      stalledMs: null,
      fault: null,
      startedBy: "queue",
      ...transfer,
    };
    const report: ProgressReport = {
      bootId: "boot-of-the-rogue-1",
      seq: ++seq,
      at: Date.now(),
      upBytesPerSecond: 4 * MIB,
      downBytesPerSecond: 0,
      rttMs: null,
      disk: null,
      cpuPercent: null,
      logTail: null,
      runs: [],
      transfers: [progress],
    };
    await node.node.progress.mutate(report);
  };
}

const ended = (seq: number): NodeEvent => ({
  type: "transfer-ended",
  seq,
  at: Date.now(),
  transferId: `transfer-past-${String(seq).padStart(3, "0")}`,
  direction: seq % 2 === 0 ? "upload" : "verify",
  state: "cancelled",
  checkpointId: `checkpoint-past-${seq}`,
  run: runName.parse(seq % 2 === 0 ? "mistral" : "gemma"),
  step: seq,
  bytes: 100,
  files: 1,
  sentBytes: 60,
  startedAt: Date.now() - 1_000,
  retries: 0,
  connections: 1,
  startedBy: "queue",
  fault: null,
});

test("an upload is paused and goes on from the page, and stays where it was meanwhile", async ({ page, stage }) => {
  await stage.startNode({ name: "gpu-1", run, flags: ["--limit-up", "2MB"] });
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 500, modelBytes: 60 * MIB, optimizerBytes: 0, loss: 1.5 });
  await signInByPage(page, stage);
  await page.goto(`${stage.hub.url}/transfers`);
  const line = page.getByRole("listitem", { name: "upload of llama step 500 on gpu-1" });
  await expect(line.getByRole("img", { name: /pieces safe, \d+ moving/ })).toBeVisible();

  // Before the hub has answered it is said what will be.
  let answer: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(/transfers\.act/, async (route) => {
    await held;
    await route.continue();
  });
  await line.getByRole("button", { name: "Pause llama step 500" }).click();
  await expect(line).toContainText("pausing");
  await expect(line.getByRole("button", { name: "Pause llama step 500" })).toBeDisabled();
  answer();
  await expect(line.getByRole("button", { name: "Resume llama step 500" })).toBeEnabled();
  await expect(line).toContainText("paused");
  await line.getByRole("button", { name: "Resume llama step 500" }).click();
  await expect(line.getByRole("button", { name: "Pause llama step 500" })).toBeEnabled();
  await line.getByRole("button", { name: "Cancel llama step 500" }).click();
  await expect(line).toContainText("cancelled");
  await page.getByRole("button", { name: "Stopped" }).click();
  await expect(line).toBeVisible();
});

test("a map shows what is tried again, a node that does nothing is named, and history is found by what one knows of it", async ({
  page,
  stage,
}) => {
  const rogue = await enrolRogue(stage, { name: "gpu-9" });
  await rogue.node.record.mutate({ events: Array.from({ length: 64 }, (_, index) => ended(index + 1)) });
  const tell = teller(rogue);
  await tell({ triedAgain: [5, 6] });
  await signInByPage(page, stage);
  await page.goto(`${stage.hub.url}/transfers`);
  const line = page.getByRole("listitem", { name: "upload of mistral step 900 on gpu-9" });
  await expect(
    line.getByRole("img", { name: "4 of 10 pieces safe, 1 moving, 2 tried again, 3 waiting" }),
  ).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);

  // This node has said nothing since.
  await line.getByRole("button", { name: "Pause mistral step 900" }).click();
  await expect(line).toContainText("pausing");
  await expect(line).toContainText("gpu-9 is silent: asked to pause it, it receives that when it is back.");
  await tell({ state: "paused" });
  await expect(line.getByRole("button", { name: "Resume mistral step 900" })).toBeEnabled();
  await expect(line).not.toContainText("asked to pause");

  await page.getByRole("button", { name: "All", exact: true }).click();
  await expect(page.getByText("30 shown")).toBeVisible();
  await page.getByRole("button", { name: "Earlier" }).click();
  await expect(page.getByText("60 shown")).toBeVisible();
  await page.getByRole("searchbox", { name: "Run" }).fill("gem");
  await expect(page).toHaveURL(/run=gem/);
  await expect(page.getByRole("listitem", { name: /of gemma step/ }).first()).toBeVisible();
  await expect(page.getByRole("listitem", { name: /of mistral step/ })).toHaveCount(0);
  await page.getByRole("combobox", { name: "Direction" }).selectOption("Uploads");
  await expect(page.getByText("No transfer matches these filters.")).toBeVisible();
  await page.getByRole("combobox", { name: "Direction" }).selectOption("Verifications");
  await expect(page).toHaveURL(/way=verify/);
  // The address says all of it.
  await page.reload();
  await expect(page.getByRole("listitem", { name: /of gemma step/ })).toHaveCount(30);
  await expect(page.getByRole("searchbox", { name: "Run" })).toHaveValue("gem");
  await page.getByLabel("Begun to day").fill("2020-01-01");
  await expect(page.getByText("No transfer matches these filters.")).toBeVisible();
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page.getByRole("listitem", { name: /of mistral step/ }).first()).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.setViewportSize({ width: 360, height: 800 });
  await page.emulateMedia({ colorScheme: "dark" });
  await expectSound(page);
});

test("a bucket says what lies in it by run, how it grew and what a month of that costs", async ({ page, stage }) => {
  await stage.startNode({ name: "gpu-1", run });
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 500, modelBytes: 24 * MIB, optimizerBytes: 0, loss: 1.5 });
  await waitComplete(stage, run);
  await signInByPage(page, stage);
  await page.goto(`${stage.hub.url}/buckets/${stage.profileId}`);
  const panel = page.getByRole("region", { name: "Usage and cost" });
  const row = panel.getByRole("table", { name: "Usage by run" }).getByRole("row").filter({ hasText: "llama" });
  await expect(row).toContainText("24.0 MiB");
  await expect(panel.getByRole("list", { name: "Growth by day" }).getByRole("listitem").last()).toContainText(
    "24.0 MiB of 1 checkpoint still there",
  );
  await expect(panel).toContainText("No public prices");
  expect(await seriousFaults(page)).toEqual([]);

  await page.goto(`${stage.hub.url}/buckets`);
  await page.getByRole("button", { name: "Edit stage bucket" }).click();
  await page.getByText("Notes and prices").click();
  await page.getByLabel("Storage per GB and month").fill("100");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.goto(`${stage.hub.url}/buckets/${stage.profileId}`);
  await expect(panel).toContainText(/A month, about2\.5\d USD/);
  await expect(panel).toContainText("By the prices in this profile");
  await page.setViewportSize({ width: 360, height: 800 });
  await page.emulateMedia({ colorScheme: "dark" });
  await expectSound(page);
});
