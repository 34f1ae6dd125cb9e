import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import type { Hub } from "../hub-link/hub.ts";
import { createRuns } from "./runs.ts";

const run = runName.parse("llama");

/** The runs of node 1 of 2; the hub gives these answers, one after the other. */
function runsWith(answers: readonly (ClaimAnswer | Fault)[]) {
  const left = [...answers];
  const over: string[] = [];
  const hub = {
    ask: async () => {
      const answer = left.shift();
      if (answer instanceof Fault) throw answer;
      return answer;
    },
  };
  const group = { rank: 1, of: 2 };
  const runs = createRuns([run], { hub: hub as unknown as Hub, group, onOver: ({ name }) => void over.push(name) });
  return { runs, over };
}

const claimOf = (epoch: number): ClaimAnswer => ({ epoch, groupOf: 2, parent: null, newest: null });
const OVER = new Fault("EPOCH_OVER", { op: "claimEpoch", subject: run });

test("a node of a group joins the line that another has begun, and goes on writing the run", async () => {
  const { runs, over } = runsWith([claimOf(3), claimOf(4)]);
  await runs.epochOf(run);
  expect(await runs.joinLine(run)).toBe(true);
  expect([runs.get(run)?.claim?.epoch, over]).toEqual([4, []]);
});

test("where nobody of the group has, asking ends nothing by itself", async () => {
  const { runs, over } = runsWith([claimOf(3), OVER]);
  await runs.epochOf(run);
  expect(await runs.joinLine(run)).toBe(false);
  expect([runs.get(run)?.over, over]).toEqual([null, []]);
});
