import { afterAll, beforeAll, expect, test } from "vitest";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { waitUntil } from "../stage/wait-until.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test("SIGTERM with open streams ends the hub cleanly, and its worker comes back by itself", async () => {
  await stage.startNode({ name: "gpu-1", run: "steady" });
  const online = async () =>
    (await stage.client.nodes.list.query()).find((one) => one.name === "gpu-1")?.state === "online";
  await waitUntil("the node is online", online);

  const response = await fetch(`${stage.hub.url}/api/trpc/live.watch`, {
    headers: { accept: "text/event-stream", cookie: stage.cookie },
  });
  const reader = response.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);

  // A hub that does not end by itself is killed by its launcher, whose exit code tells.
  expect(await stage.hub.stop("SIGTERM")).toEqual({ code: 0, signal: null });

  await stage.startHubAgain();
  await waitUntil("the node is back", online);
});
