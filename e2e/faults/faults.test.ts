import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleProgram } from "./bundle.ts";
import { createRigPool, type RigPool } from "./rig-pool.ts";
import { FAULT_CLASSES } from "./table.ts";
import { NOTHING_SHOWN, runTrial, type TrialResult } from "./trial.ts";

/**
 * Every class of faults once in each direction, with short waits. The full counts: `npm run prove`. What failed is told with the
 * command that does the same again.
 */

const SEED = 1;
let program: string;
let rigs: RigPool;

beforeAll(async () => {
  program = await bundleProgram();
  rigs = createRigPool({ program, size: "small" });
});
afterAll(async () => {
  await rigs.close();
  rmSync(dirname(program), { recursive: true, force: true });
});

const told = ({ problems, replay }: TrialResult) => problems.map((problem) => `${problem}\n    again: ${replay}`);

describe.concurrent("a transfer is right, or says in one sentence why not, when", () => {
  const cases = FAULT_CLASSES.flatMap((faultClass) =>
    faultClass.directions.map((direction) => ({
      title: `${faultClass.name} (${direction}): ${faultClass.says}`,
      faultClass,
      direction,
    })),
  );
  test.for(cases)("$title", async ({ faultClass, direction }) => {
    await rigs.use(faultClass, async (rig) => {
      const trial = () => runTrial(rig, { faultClass, direction, seed: SEED, scale: "short" });
      const result = await trial();
      // Its transfer has a second in which it is disturbed; what was over before is made once more.
      const isShown = result.problems.join() !== NOTHING_SHOWN;
      // One text, so that what the gate says of a second try names the problem.
      expect(told(isShown ? result : await trial()).join("\n")).toBe("");
    });
  });
});
