import { expect, test } from "vitest";
import { TEST_MACHINE } from "../report/test-machine.ts";
import type { FirstByteResult, FirstByteRun } from "./result.ts";
import { firstBytePage, placeOf } from "./write-page.ts";

const run = (tool: string, firstByteMs: number | null, given: Partial<FirstByteRun> = {}): FirstByteRun => ({
  tool,
  direction: "up",
  bytes: 1 << 20,
  round: 1,
  failure: firstByteMs === null ? "exit code 1" : null,
  firstPacketMs: 40,
  firstByteMs,
  before: ["DNS", "TCP", "TLS"],
  ...given,
});

const result = (runs: FirstByteRun[]): FirstByteResult => ({
  ...TEST_MACHINE,
  link: { rttMs: 120, upMbit: 500, downMbit: 500 },
  isRealTime: false,
  tools: [
    { name: "tidemark", title: "Tidemark", role: "own", version: "1" },
    { name: "peer", title: "Peer", role: "peer", version: "2" },
  ],
  missing: {},
  runs,
});
const WHICH = { direction: "up", bytes: 1 << 20 } as const;

test("the page says which tool is first by the medians", () => {
  const slower = result([run("tidemark", 420), run("tidemark", 900), run("tidemark", 430), run("peer", 425)]);
  expect(placeOf(slower, WHICH)).toBe(2);
  expect(firstBytePage(slower)).toContain("* **not met**: the first of all tools (2)");
  const faster = result([run("tidemark", 420), run("peer", 425)]);
  expect(firstBytePage(faster)).toContain("* met: the first of all tools (1)");
  expect(firstBytePage(faster)).toContain("| Tidemark | 420 (420 to 420) | 40 | DNS, TCP, TLS | 0 of 1 |");
});

test("a tool that failed is no rival, and is counted", () => {
  const alone = result([run("tidemark", 420), run("peer", null)]);
  expect(placeOf(alone, WHICH)).toBeNull();
  expect(firstBytePage(alone)).toContain("| Peer | - | - |  | 1 of 1 |");
});
