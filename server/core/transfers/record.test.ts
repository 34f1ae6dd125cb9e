import { expect, it } from "vitest";
import { callAs } from "#server/testing/open-test-hub.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { run } from "#server/testing/stage-checkpoint.ts";

pairForEach();

const events = [
  { seq: 1, at: 1, type: "program-ended" as const, run, code: 1, signal: null, ranMs: 1, tail: "" },
  {
    seq: 2,
    at: 1,
    type: "capture-refused" as const,
    run,
    path: "/checkpoints/1",
    fault: { code: "SOURCE_CHANGED" as const },
  },
];

const linesOf = async (): Promise<string[]> => {
  const asked = { nodeId: null, run, cursor: null, limit: 20, kinds: ["program-ended", "capture-refused"] };
  return (await callAs(test.hub, "viewer").events.list(asked)).rows.map(({ kind }) => kind);
};

it("what a node says of a run that others write is passed over, and its outbox moves on", async () => {
  await claim(node);
  expect(await callAs(test.hub, other.caller).node.record({ events })).toEqual({ acceptedThrough: 2 });
  expect(await linesOf()).toEqual([]);
});

it("what the writer of a run says of it is told, also after another took it over", async () => {
  await claim(node);
  await claim(other);
  await callAs(test.hub, node.caller).node.record({ events });
  expect((await linesOf()).toSorted()).toEqual(["capture-refused", "program-ended"]);
});
