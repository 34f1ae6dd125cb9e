import { overproduce } from "../stage/overproduce.ts";
import { stageOver } from "../stage/stage-over.ts";
import type { Measure } from "./measure.ts";

const GB = 1_000_000_000;
const CHECKPOINTS = 50;
const BUDGET_BYTES = GB;

/** A program that writes five times its disk budget over a slow uplink. */
export const overproduction: Measure = {
  name: "disk-budget",
  row: 17,
  says: "5 GB of checkpoints within a disk budget of 1 GB",
  run: async () => {
    const problems: string[] = [];
    const staged = await stageOver("hub");
    try {
      const { mostHeldBytes, ends, newestSafe } = await overproduce(staged, {
        name: "too-much",
        checkpoints: CHECKPOINTS,
        checkpointBytes: (5 * GB) / CHECKPOINTS,
        budgetBytes: BUDGET_BYTES,
        upBytesPerSecond: 40_000_000,
      });
      const safe = [...ends.values()].filter((end) => end === "safe").length;
      const passed = [...ends.values()].filter((end) => end === "superseded").length;
      if (mostHeldBytes > BUDGET_BYTES) problems.push(`captures held ${mostHeldBytes} bytes`);
      if (newestSafe !== CHECKPOINTS * 10) problems.push(`the newest safe step is ${newestSafe}`);
      if (safe + passed !== CHECKPOINTS) problems.push(`${safe} safe and ${passed} superseded of ${CHECKPOINTS}`);
      return {
        runs: CHECKPOINTS,
        problems,
        figures: [`captures held at most ${(mostHeldBytes / GB).toFixed(2)} GB; ${safe} safe, ${passed} superseded`],
      };
    } finally {
      await staged.close();
    }
  },
};
