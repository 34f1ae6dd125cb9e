import { makeSafe, type Staged } from "./stage-checkpoint.ts";
import type { TestHub, TestNode } from "./open-test-hub.ts";

/** Adds checkpoints of the first epoch: index 1 at step 100, index 2 at step 200, and so on. For tests. */
export async function addSteps(
  test: TestHub,
  node: TestNode,
  { from, count }: { from: number; count: number },
): Promise<Staged[]> {
  const made: Staged[] = [];
  for (let index = from; index < from + count; index++) {
    made.push(await makeSafe(test.hub, node, { epoch: 1, step: index * 100 }));
  }
  return made;
}

/** Returns the steps in a state, ascending. */
export async function stepsIn(test: TestHub, state: string): Promise<number[]> {
  const rows = await test.hub.db.checkpoint.findMany({ where: { state }, orderBy: { step: "asc" } });
  return rows.map(({ step }) => Number(step));
}
