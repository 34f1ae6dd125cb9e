import type { Result } from "./results.ts";

/** For tests of pages: how something was measured. */
export const TEST_MACHINE: Pick<Result, "date" | "commit" | "command" | "machine"> = {
  date: "2026-11-22T10:00:00.000Z",
  commit: "abc1234",
  command: "npm run bench",
  machine: {
    cpu: "a CPU",
    cores: 2,
    memoryGib: 24,
    kernel: "6",
    loadBefore: 0,
    node: "24",
    server: "",
    congestion: "",
  },
};
