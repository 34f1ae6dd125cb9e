import { describe, expect, test } from "vitest";
import {
  NODE_CONDITIONS,
  NODE_STATES,
  NODE_TRAITS,
  nodeConditionOf,
  nodeStateOf,
  presenceAt,
  runConditionOf,
  transferPhaseOf,
  workOf,
  type NodeCondition,
  type Presence,
  type RunCondition,
} from "./node-status.ts";
import type { RunBacklog } from "../wire/reports.ts";
import { NO_RISK, type WorkState } from "../wire/risk.ts";
import { makeRunBacklog } from "../testing/make-run-backlog.ts";
import { TRANSFER_STATES } from "../wire/transfer-kinds.ts";
import type { NodeState } from "../wire/views.ts";

const WORKS: readonly WorkState[] = ["safe", "moving", "risk", "lost"];

describe("presence", () => {
  const words = { presence: "heard" as Presence, lastSeenAt: 0, quietSince: 0, reportEveryMs: 1_000 };
  test.each<[number, Presence]>([
    [0, "heard"],
    [10_000, "heard"],
    [10_001, "unconfirmed"],
    [30_000, "unconfirmed"],
    [30_001, "silent"],
  ])("of a node that reports each second, %i ms after its last word, is %s", (now, presence) => {
    expect(presenceAt(words, now)).toBe(presence);
  });

  test("follows the cadence of the node", () => {
    expect(presenceAt({ ...words, reportEveryMs: 10_000 }, 25_000)).toBe("heard");
    expect(presenceAt({ ...words, reportEveryMs: 10_000 }, 25_001)).toBe("unconfirmed");
  });

  test("comes back by a word only, not by time or another cadence", () => {
    expect(presenceAt({ ...words, presence: "silent" }, 1)).toBe("silent");
    expect(presenceAt({ ...words, presence: "unconfirmed", reportEveryMs: 10_000 }, 7_000)).toBe("unconfirmed");
  });

  test("a hub that was away knows no node by its old word, and calls none silent before it had time to speak", () => {
    const before = { ...words, lastSeenAt: 0, quietSince: 100_000 };
    expect(presenceAt(before, 100_001)).toBe("unconfirmed");
    expect(presenceAt(before, 130_001)).toBe("silent");
  });
});

test("the state of a node: revoked before offline before what was heard", () => {
  const known = { revokedAt: null, leftAt: null, presence: "heard" as Presence };
  expect(nodeStateOf(known)).toBe("online");
  expect(nodeStateOf({ ...known, presence: "unconfirmed" })).toBe("unconfirmed");
  expect(nodeStateOf({ ...known, presence: "silent" })).toBe("silent");
  expect(nodeStateOf({ ...known, presence: "silent", leftAt: 1 })).toBe("offline");
  expect(nodeStateOf({ revokedAt: 1, leftAt: 1, presence: "heard" })).toBe("revoked");
});

test("figures are the present of an online node alone; work is given to an unconfirmed one too", () => {
  expect(NODE_STATES.filter((state) => NODE_TRAITS[state].isHeard)).toEqual(["online"]);
  expect(NODE_STATES.filter((state) => NODE_TRAITS[state].isExpected)).toEqual(["online", "unconfirmed"]);
});

describe("work", () => {
  const run: RunBacklog = makeRunBacklog({ unsafeCheckpoints: 1, oldestUnsafeAt: 0 });
  const captured = { ...NO_RISK, checkpoints: 1, bytes: 5, lossMs: 60_000 };
  const trained = { ...NO_RISK, lossMs: 60_000 };
  test.each<[NodeState, { captured: WorkState; trained: WorkState }]>([
    ["online", { captured: "moving", trained: "safe" }],
    ["unconfirmed", { captured: "moving", trained: "safe" }],
    ["silent", { captured: "lost", trained: "lost" }],
    // It keeps on its disk what it captured, and what it trained since was its own choice.
    ["offline", { captured: "lost", trained: "safe" }],
    ["revoked", { captured: "lost", trained: "lost" }],
  ])("on a node that is %s, captured or only trained, and never of a run that is all safe", (state, expected) => {
    const idle: RunBacklog = makeRunBacklog({ unsafeCheckpoints: 0 });
    expect(workOf(run, { state, risk: captured, at: 1 })).toBe(expected.captured);
    expect(workOf(idle, { state, risk: trained, at: 1 })).toBe(expected.trained);
    expect(workOf(idle, { state, risk: NO_RISK, at: 1 })).toBe("safe");
  });
});

test.each<[NodeState, Record<WorkState, NodeCondition>, NodeCondition]>([
  ["online", { safe: "safe", moving: "uploading", risk: "behind", lost: "behind" }, "idle"],
  [
    "unconfirmed",
    { safe: "unconfirmed", moving: "unconfirmed", risk: "unconfirmed", lost: "unconfirmed" },
    "unconfirmed",
  ],
  ["silent", { safe: "silent", moving: "silent", risk: "silent", lost: "silent" }, "silent"],
  ["offline", { safe: "offline", moving: "offline", risk: "offline", lost: "stranded" }, "offline"],
  ["revoked", { safe: "revoked", moving: "revoked", risk: "revoked", lost: "revoked" }, "revoked"],
])("a node that is %s has one condition for each work state", (state, byWork, without) => {
  for (const work of WORKS) expect(nodeConditionOf({ state, work, runs: ["a run"] })).toBe(byWork[work]);
  expect(nodeConditionOf({ state, work: "safe", runs: [] })).toBe(without);
  expect(NODE_CONDITIONS).toContain(without);
});

test.each<[NodeState | null, Record<WorkState, RunCondition>]>([
  ["online", { safe: "safe", moving: "uploading", risk: "behind", lost: "lost" }],
  ["unconfirmed", { safe: "unconfirmed", moving: "unconfirmed", risk: "unconfirmed", lost: "unconfirmed" }],
  ["silent", { safe: "writer-silent", moving: "writer-silent", risk: "writer-silent", lost: "lost" }],
  ["offline", { safe: "safe", moving: "safe", risk: "safe", lost: "stranded" }],
  ["revoked", { safe: "safe", moving: "safe", risk: "safe", lost: "lost" }],
  [null, { safe: "safe", moving: "safe", risk: "safe", lost: "lost" }],
])("a run whose writer is %s is never uploading and lost at once", (writerState, byWork) => {
  for (const work of WORKS) expect(runConditionOf({ writerState, work })).toBe(byWork[work]);
});

test("only a transfer of a node that is heard moves", () => {
  for (const node of NODE_STATES) {
    expect(transferPhaseOf("running", node)).toBe(node === "online" ? "moving" : "unheard");
    for (const state of TRANSFER_STATES) if (state !== "running") expect(transferPhaseOf(state, node)).toBe(state);
  }
  expect(transferPhaseOf("running", null)).toBe("moving");
});
