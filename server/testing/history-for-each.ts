import { beforeEach } from "vitest";
import { claim, node, pairForEach, test } from "./pair-for-each.ts";
import type { Staged } from "./stage-checkpoint.ts";
import { addSteps } from "./stage-history.ts";

/** For tests of retention: in every test a run with checkpoints at steps 100, 200, and so on, all of the first epoch. */
export let made: Staged[];

/** Registers the hooks that run before and after the tests of a file; `flags` are those of the store's command line. */
export function historyForEach(count: number, flags: readonly string[] = []): void {
  pairForEach(flags);
  beforeEach(async () => {
    await claim(node);
    made = await addSteps(test, node, { from: 1, count });
  });
}

/** Returns the id of a checkpoint; index 0 is the one at step 100. */
export const idOf = (index: number): string => made[index]?.checkpointId ?? "";
