import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { waitUntil } from "../stage/wait-until.ts";

let stage: Stage;
const got: { key: string; kind: string }[] = [];
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { kind } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { kind: string };
    got.push({ key: String(request.headers["idempotency-key"]), kind });
    response.end();
  });
});
beforeAll(async () => {
  stage = await openStage();
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
});
afterAll(async () => {
  receiver.close();
  await stage.close();
});

test("a hub that is killed after it told an alert does not tell it a second time", async () => {
  const address = receiver.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const secret = { url: `http://127.0.0.1:${port}/hook`, key: "a-signing-key-of-some-length" };
  const channel = { name: "hook", kind: "webhook" as const };
  const { id } = await stage.client.alerts.channels.create.mutate({ channel, secret });
  // Every disk has less than all of it free.
  const condition = { kind: "disk-full" as const, lessPercent: 100 };
  await stage.client.alerts.rules.create.mutate({ rule: { name: "disk", condition, channelIds: [id] } });
  await stage.startNode({ name: "gpu-1" });
  const mine = async () =>
    (await stage.client.alerts.active.query({})).rows.filter(({ ruleName }) => ruleName === "disk");
  await waitUntil("it is told", () => got.length > 0);
  const [before] = await mine();
  await stage.killHub();
  await stage.startHubAgain();
  await waitUntil("the node is heard of again, and looked at", async () => {
    const node = (await stage.client.nodes.list.query()).find(({ name }) => name === "gpu-1");
    return (
      node !== undefined && (await stage.client.alerts.channels.list.query()).length > 0 && node.state === "online"
    );
  });
  // A second rule of the same kind is told when everything was looked at again several times.
  await stage.client.alerts.rules.create.mutate({ rule: { name: "later", condition, channelIds: [id] } });
  await waitUntil("the later rule is told", () => got.length > 1);
  expect(await mine()).toEqual([{ ...before, text: expect.any(String) }]);
  expect(got).toHaveLength(2);
  expect(new Set(got.map(({ key }) => key)).size).toBe(2);
  const { rows } = await stage.client.alerts.active.query({});
  const names = rows.map(({ ruleName }) => ruleName).filter((name) => name === "disk" || name === "later");
  expect(names.toSorted()).toEqual(["disk", "later"]);
});
