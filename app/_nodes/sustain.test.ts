import { expect, test } from "vitest";
import { NO_RISK } from "#protocol/wire/risk.ts";
import type { NodeRunView } from "#protocol/wire/views.ts";
import { nodeRow, nodeRunView } from "#protocol/testing/make-node-row.ts";
import { cannotSustain } from "./sustain.ts";

const GiB = 1024 ** 3;
const run = (over: Partial<NodeRunView>) =>
  nodeRunView({
    safeBytes: 18.2 * GiB,
    intervalMs: 10 * 60_000,
    work: "risk",
    risk: { ...NO_RISK, checkpoints: 3, bytes: 54 * GiB },
    ...over,
  });
const slow = Array.from({ length: 30 }, () => 4_750_000);
const node = (over: Partial<NodeRunView>, upHistory = slow) => nodeRow({ runs: [run(over)], upHistory });

test("says how long a checkpoint takes, how often to save, and what rate it would need", () => {
  expect(cannotSustain(node({}), "bits")).toEqual({
    run: "llama",
    title: "This uplink cannot sustain a checkpoint every 10 min.",
    why: "18.2 GiB at 38.0 Mbps takes 1 h 9 min; 3 are waiting. Save every 1 h 10 min or longer, save less, or move the run to a node with at least 261 Mbps up.",
  });
});

test("an uplink that keeps up is not warned about", () => {
  expect(cannotSustain(node({ safeBytes: 0.5 * GiB }), "bits")).toBeNull();
});

test("one checkpoint on its way is as it should be", () => {
  expect(cannotSustain(node({ risk: { ...NO_RISK, checkpoints: 1 } }), "bits")).toBeNull();
});

test("nothing is said from too few measurements, or by a node that does not answer", () => {
  expect(cannotSustain(node({}, [0, 0, 4_750_000, 0]), "bits")).toBeNull();
  expect(cannotSustain({ ...node({}), state: "silent" }, "bits")).toBeNull();
});

test("pauses between uploads do not count as a slow uplink", () => {
  const fast = [0, 0, 0, 0, 0, 0, 60_000_000, 60_000_000, 60_000_000, 60_000_000];
  expect(cannotSustain(node({}, fast), "bits")).toBeNull();
});

test("what the node measured itself is said before work piles up", () => {
  const forecast = cannotSustain(node({ leastIntervalMs: 70 * 60_000, risk: NO_RISK }, []), "bits");
  expect(forecast?.why).toContain("takes 1 h 10 min; older ones will be skipped. Save every 1 h 10 min");
  expect(cannotSustain(node({ leastIntervalMs: 9 * 60_000 }), "bits")).toBeNull();
});

test("it is said while the first checkpoint is still on its way", () => {
  const risk = { ...NO_RISK, checkpoints: 2, bytes: 36 * GiB };
  const forecast = cannotSustain(node({ safeBytes: 0, leastIntervalMs: 70 * 60_000, risk }, []), "bits");
  expect(forecast?.why).toContain("18.0 GiB at 36.8 Mbps takes 1 h 10 min; 2 are waiting.");
});
