import { afterAll, beforeAll, expect, test } from "vitest";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { waitUntil } from "../stage/wait-until.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test("an agent with a hub says that it needs no bucket keys, and not what they are", async () => {
  const raw = { AWS_ACCESS_KEY_ID: "AKIAPLANTED", AWS_SECRET_ACCESS_KEY: "canary-in-the-environment" };
  const env = { ...raw, TIDEMARK_PART_SISE: "8MiB" };
  const worker = await stage.startNode({ name: "careless", run: "any", env });
  await waitUntil("it warns", async () => worker.lines.some((line) => line.includes("AWS_SECRET_ACCESS_KEY")));
  await waitUntil("it names what nothing reads", async () => worker.lines.some((line) => line.includes("PART_SISE")));
  expect(worker.lines.join("\n")).not.toMatch(/canary-in-the-environment|AKIAPLANTED/);
});
