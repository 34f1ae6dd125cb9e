import { expect, test } from "vitest";
import { nodeRow, nodeRunView } from "../testing/make-node-row.ts";
import { changeNode, partsOf } from "./node-changes.ts";
import { addRisks, NO_RISK } from "../wire/risk.ts";
import type { NodeRow, NodeRunView } from "../wire/views.ts";

const run = (name: string, lossMs: number, safeStep = 100): NodeRunView =>
  nodeRunView({ run: name, safeStep, risk: { ...NO_RISK, bytes: 7, lossMs } });

const row = (runs: NodeRunView[], cpuPercent: number | null = null): NodeRow =>
  nodeRow({ runs, cpuPercent, risk: addRisks(runs.map(({ risk }) => risk)) });

/** The parts of `after` that `before` has otherwise. */
function changeBetween(before: NodeRow, after: NodeRow) {
  const [was, is] = [partsOf(before), partsOf(after)];
  const changed = Object.entries(is).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(was[key as keyof typeof was]),
  );
  return { id: after.id, ...Object.fromEntries(changed) };
}

const two = row([run("a", 10), run("b", 20)]);

test.each([
  { what: "nothing", after: two, told: [] },
  { what: "time passed", after: row([run("a", 11), run("b", 21)]), told: ["losses"] },
  { what: "a run moved on", after: row([run("a", 10, 200), run("b", 20)]), told: ["runs"] },
  { what: "a run moved on in time", after: row([run("a", 0, 200), run("b", 21)]), told: ["runs", "losses"] },
  { what: "a run came", after: row([run("a", 10), run("b", 20), run("c", 30)]), told: ["runs", "losses"] },
  { what: "a run went", after: row([run("b", 20)]), told: ["runs", "losses"] },
  { what: "all runs went", after: row([]), told: ["runs", "losses"] },
  { what: "something else", after: row([run("a", 10), run("b", 20)], 5), told: ["cpuPercent"] },
])("$what: what changed of a row makes the other one of it", ({ after, told }) => {
  const change = changeBetween(two, after);
  expect(Object.keys(change).toSorted()).toEqual(["id", ...told].toSorted());
  expect(changeNode(two, change)).toEqual(after);
});
