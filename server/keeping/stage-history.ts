import { makeSafe, run, type Staged } from "../checkpoints/stage-checkpoint.ts";
import { openPair } from "../checkpoints/test-bucket.ts";
import { callAs, type TestHub, type TestNode, type TestStore } from "../hub/open-test-hub.ts";

/** For tests: a run with checkpoints at steps 100, 200, and so on, all of the first epoch. */
export async function openHistory(store: TestStore, count: number) {
  const pair = await openPair(store);
  await callAs(pair.test.hub, pair.node.caller).node.claimEpoch({ run });
  const made = await addSteps(pair.test, pair.node, { from: 1, count });
  return { ...pair, made };
}

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

/** Steps in the state, ascending. */
export async function stepsIn(test: TestHub, state: string): Promise<number[]> {
  const rows = await test.hub.db.checkpoint.findMany({ where: { state }, orderBy: { step: "asc" } });
  return rows.map(({ step }) => Number(step));
}
