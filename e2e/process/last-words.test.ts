import { afterAll, beforeAll, expect, test } from "vitest";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** What a hub shows of a node that has stopped. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test("what was not safe when a node stopped is what the hub shows, not what the report before said", async () => {
  const flags = ["--limit-up", "10kB", "--settle", "500ms", "--grace", "8s"];
  const worker = await stage.startNode({ name: "last", run: "last", flags });
  const node = async () => (await stage.client.nodes.list.query()).find(({ name }) => name === "last");
  await waitUntil("the hub has heard of it", async () => (await node())?.state === "online");
  writeCheckpoint({ folder: stage.folderOf("last"), step: 10, modelBytes: 5_000_000, optimizerBytes: 0, loss: 1 });
  // Many seconds before its next report.
  await waitUntil("it is captured", () => worker.lines.some((line) => line.includes("Captured")));
  await worker.stop();
  expect(await node()).toMatchObject({ state: "offline", runs: [{ run: "last", localStep: 10, safeStep: null }] });
});
