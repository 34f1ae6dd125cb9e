import { build } from "../gate/build.ts";
import { installChromium } from "../gate/install-chromium.ts";
import { playwrightStep } from "../gate/playwright-step.ts";
import { runStep, tell } from "../gate/run-step.ts";
import { prepareHub } from "../stage/prepare-hub.ts";

/**
 * Number of nodes in `npm run prove -- large-fleet`. The gate runs the same browser story with four hundred nodes, to leave
 * CPU time to other tests.
 */
const NODES = 3_000;

/** Runs the story and returns the exit code. */
export async function proveLargeFleet(): Promise<number> {
  await installChromium({ ci: false });
  await build();
  await prepareHub();
  const { read, ...step } = playwrightStep(["e2e/browser/22-large-fleet.spec.ts"]);
  const result = await runStep({
    title: `a fleet of ${NODES} nodes in Chromium`,
    ...step,
    env: { ...step.env, STORY_NODES: String(NODES) },
  });
  const report = read();
  tell(result, report ?? undefined);
  return result.ok && report !== null && report.skipped === 0 ? 0 : 1;
}
