import { expect, it } from "vitest";
import { claim, node, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { run } from "#server/testing/stage-checkpoint.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { weekOf } from "./summarise.ts";

pairForEach();

const DAY_MS = 86_400_000;
const losses = () => callAs(test.hub, "operator").losses;
async function lose(of: string, about: { at: number; steps: number; ms: number }): Promise<void> {
  const data = { id: newId(), at: new Date(about.at), run: of, epoch: 1, nodeId: node.nodeId, byNodeId: node.nodeId };
  const steps = {
    fromStep: 0n,
    lastStep: BigInt(about.steps),
    lostSteps: BigInt(about.steps),
    lostMs: BigInt(about.ms),
  };
  await test.hub.db.loss.create({ data: { ...data, ...steps } });
}

it("a week begins on Monday, 00:00 UTC", () => {
  for (const at of ["2026-11-16T00:00:00Z", "2026-11-18T12:00:00Z", "2026-11-22T23:59:59Z"])
    expect(new Date(weekOf(Date.parse(at))).toISOString()).toBe("2026-11-16T00:00:00.000Z");
});

it("adds up what was lost week by week, of one run or of all, with the weeks in which nothing was", async () => {
  const now = test.hub.now();
  await lose(run, { at: now, steps: 10, ms: 3_600_000 });
  await lose(run, { at: now - 14 * DAY_MS, steps: 5, ms: 1_800_000 });
  await lose("other", { at: now, steps: 1, ms: 60_000 });
  const one = await losses().summary({ run, weeks: 4 });
  expect(one.weeks.map(({ lostSteps }) => lostSteps)).toEqual([0, 5, 0, 10]);
  expect(one.total).toEqual({ interruptions: 2, lostSteps: 15, lostMs: 5_400_000, costs: [] });
  expect(one.price).toBeNull();
  expect((await losses().summary({ run: null, weeks: 1 })).total).toMatchObject({ interruptions: 2, lostSteps: 11 });
});

it("says what it cost by the price of a node-hour, that of the run before that of all", async () => {
  await claim(node);
  const now = test.hub.now();
  await lose(run, { at: now, steps: 10, ms: 7_200_000 });
  await lose("other", { at: now, steps: 10, ms: 3_600_000 });
  await losses().setPrice({ run: null, price: { perHour: 0.5, currency: "USD" } });
  expect((await losses().summary({ run: null, weeks: 1 })).total.costs).toEqual([{ currency: "USD", amount: 1.5 }]);
  await losses().setPrice({ run, price: { perHour: 2, currency: "EUR" } });
  const all = await losses().summary({ run: null, weeks: 1 });
  expect(all.total.costs.toSorted((a, b) => (a.currency < b.currency ? -1 : 1))).toEqual([
    { currency: "EUR", amount: 4 },
    { currency: "USD", amount: 0.5 },
  ]);
  expect((await losses().summary({ run, weeks: 1 })).price).toEqual({ perHour: 2, currency: "EUR", of: "run" });
  const rows = await losses().list({ run, nodeId: null, before: null, limit: 10 });
  expect(rows.map(({ cost }) => cost)).toEqual([{ currency: "EUR", amount: 4 }]);
  await losses().setPrice({ run, price: null });
  expect((await losses().summary({ run, weeks: 1 })).price).toEqual({ perHour: 0.5, currency: "USD", of: "fleet" });
  const actions = await test.hub.db.audit.findMany({ where: { action: "set node price" } });
  expect(actions).toHaveLength(3);
});

it("has no price for a run that is not there, nor in a currency that is none", async () => {
  const price = { perHour: 1, currency: "USD" };
  await expect(losses().setPrice({ run: "nobody", price })).rejects.toEqual(fault("NOT_FOUND"));
  await expect(losses().setPrice({ run: null, price: { ...price, currency: "dollars" } })).rejects.toThrow();
});
