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

  let tooLate = false;
  const deadline = setTimeout(() => {
    tooLate = true;
    void stage.hub.stop("SIGKILL");
  }, 5000);
  const { code, signal } = await stage.hub.stop("SIGTERM");
  clearTimeout(deadline);
  expect({ code, signal, tooLate }).toEqual({ code: 0, signal: null, tooLate: false });

  await stage.startHubAgain();
  await waitUntil("the node is back", online);
});
