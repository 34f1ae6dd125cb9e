import { expect, it } from "vitest";
import { addTo } from "../live/live-node.ts";
import { callAs, report } from "#server/testing/open-test-hub.ts";
import { node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { writeMinute } from "./write-minute.ts";

pairForEach();

const says = (who: typeof node, change: object) =>
  callAs(test.hub, who.caller).node.progress({ ...report(test.hub), ...change });

it("numbers that no link reaches are refused at the border", async () => {
  for (const change of [
    { upBytesPerSecond: 1.7e308 },
    { downBytesPerSecond: 1.7e308 },
    { rttMs: 1.7e308 },
    { cpuPercent: 1.7e308 },
  ]) {
    await expect(says(node, change)).rejects.toThrow();
  }
});

it("a node whose numbers cannot be written down costs no other node its minute", async () => {
  await says(node, { upBytesPerSecond: 1_000 });
  await says(other, { upBytesPerSecond: 2_000 });
  const bad = test.hub.live.nodes.get(node.nodeId);
  if (bad === undefined) throw new Error("no such node");
  const good = bad.report;
  bad.report = new Proxy(
    { ...report(test.hub), logTail: null },
    {
      get: () => {
        throw new Error("not to be read");
      },
    },
  );
  await writeMinute(test.hub, test.hub.now());
  bad.report = good;
  expect(await test.hub.db.fleetMinute.findMany()).toMatchObject([{ upBytesPerSecond: 2_000 }]);
});

it("rates that add up to no number are left out of the fleet's", async () => {
  await says(node, { upBytesPerSecond: 1_000 });
  await says(other, { upBytesPerSecond: 2_000 });
  const bad = test.hub.live.nodes.get(node.nodeId);
  if (bad === undefined) throw new Error("no such node");
  for (let count = 0; count < 2; count++) addTo(bad.minute.up, Number.MAX_VALUE);
  await writeMinute(test.hub, test.hub.now());
  expect(await test.hub.db.fleetMinute.findMany()).toMatchObject([{ upBytesPerSecond: 2_000 }]);
});
