import { expect, test } from "vitest";
import { TEST_MACHINE } from "../report/test-machine.ts";
import type { FleetResult } from "./result.ts";
import { fleetPage, requirementsOf } from "./write-page.ts";

const result: FleetResult = {
  nodes: 10_000,
  everySeconds: 5,
  intervalSeconds: 600,
  connectedSeconds: 200,
  phases: [{ phase: "nobody looks", seconds: 60, cpu: 0.6, rssMb: 700 }],
  commandMs: { count: 400, p50: 12, p99: 200 },
  screenMs: { count: 12, p50: 800, p95: 1500 },
  acknowledgedEnds: 1000,
  lostEnds: 0,
  commandsTwice: 0,
  killed: null,
  ...TEST_MACHINE,
};
const unmet = (changes: Partial<FleetResult>) =>
  requirementsOf({ ...result, ...changes }).flatMap(({ says, isMet }) => (isMet ? [] : [says]));

test("a fleet is held to what is asked of its size", () => {
  expect(unmet({})).toEqual([]);
  const phases = [...result.phases, { phase: "somebody looks", seconds: 60, cpu: 0.71, rssMb: 1001 }];
  expect(unmet({ phases })).toEqual(["CPU below 70 % of one core", "memory below 1 GB"]);
  expect(unmet({ phases, nodes: 1000 })).toEqual([]);
  expect(unmet({ nodes: 200 })).toEqual(["CPU below 5 % of one core"]);
  expect(unmet({ lostEnds: 1, commandsTwice: 1, commandMs: { count: 1, p50: null, p99: null } })).toHaveLength(3);
  const killed = {
    kills: 50,
    readyMs: { p50: 900, worst: 5001 },
    allBackSeconds: { p50: 3, worst: 4 },
    busiestSecond: 0.3,
  };
  expect(unmet({ nodes: 1000, killed })).toEqual(["ready within 5 s"]);
});

test("the page says what was not met", () => {
  const page = fleetPage([{ ...result, lostEnds: 2 }]);
  expect(page).toContain("## 10,000 nodes\n");
  expect(page).toContain("1,000 ends of transfers were acknowledged; 2 of them are not in the hub's database");
  expect(page).toContain("* **not met**: no acknowledged report lost");
});
