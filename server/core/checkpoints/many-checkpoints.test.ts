import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import { runName, step } from "#protocol/base/names.ts";
import { stepsOf } from "#protocol/checkpoint/run-timeline.ts";
import { addTestNode, addTestProfile, callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import type { Hub } from "../api/hub.ts";
import { listCheckpoints } from "./list-checkpoints.ts";
import { getRun } from "./runs.ts";

/** A run of 5,000 checkpoints: what is asked reads and sends a page, not the run. */

const MANY = 5_000;
const run = runName.parse("long");
let test: TestHub;
beforeAll(async () => {
  test = await openTestHub();
  const { db } = test.hub;
  const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  const { nodeId } = await addTestNode(test.hub, profileId, "gpu-1");
  const at = new Date(1_000);
  await db.run.create({ data: { name: run, profileId, createdAt: at } });
  for (const epoch of [1, 2]) await db.epoch.create({ data: { run, epoch, nodeId, claimedAt: at } });
  const stateOf = (index: number): CheckpointState => (index % 10 === 9 ? "torn" : "complete");
  const rows = Array.from({ length: MANY }, (_, index) => ({
    id: `checkpoint-${String(index).padStart(6, "0")}`,
    run,
    // Two lie at the same step of the same epoch, announced at the same moment.
    step: BigInt(Math.floor(index / 2)),
    writerEpoch: index < 1_000 ? 1 : 2,
    attempt: `attempt${String(index).padStart(6, "0")}`,
    nodeId,
    profileId,
    bucket: "training",
    prefix: "team/",
    state: stateOf(index),
    metrics: "{}",
    fileCount: 1,
    sizeBytes: 10n,
    capturedAt: at,
    announcedAt: at,
  }));
  for (let first = 0; first < MANY; first += 500)
    await db.checkpoint.createMany({ data: rows.slice(first, first + 500) });
});
afterAll(() => test.close());

/** The same hub, with a count of the rows that the database gives for checkpoints. */
function counting(): { hub: Hub; read: () => number } {
  let rows = 0;
  const db = test.hub.db.$extends({
    query: {
      checkpoint: {
        $allOperations: async ({ args, query }) => {
          const answer: unknown = await query(args);
          rows += Array.isArray(answer) ? answer.length : 1;
          return answer;
        },
      },
    },
  });
  return { hub: { ...test.hub, db: db as Hub["db"] }, read: () => rows };
}

describe("a run of 5,000 checkpoints", () => {
  it("opens with its newest hundred and the number of all, and reads little more than these", async () => {
    const { hub, read } = counting();
    const view = await getRun(hub, run);
    expect(view.checkpoints.map(({ step }) => step)).toEqual(
      Array.from({ length: 100 }, (_, index) => 2_499 - Math.floor(index / 2)),
    );
    expect(view).toMatchObject({ complete: 4_500, totalBytes: 45_000, byState: { complete: 4_500, torn: 500 } });
    expect(read()).toBeLessThan(120);
    expect(JSON.stringify(view).length).toBeLessThan(60_000);
  });

  it("gives a page for a page's rows, wherever the page lies", async () => {
    const { hub, read } = counting();
    const cursor = "checkpoint-000300";
    const page = await listCheckpoints(hub, { run, states: [], kept: null, cursor, limit: 50 });
    expect(page.rows).toHaveLength(50);
    expect(page.rows[0]?.id).toBe("checkpoint-000299");
    expect(read()).toBeLessThan(60);
  });

  it("gives every one of a state once, in order, over all its pages", async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof listCheckpoints>> = await callAs(test.hub, "viewer").checkpoints.list({
        run,
        states: ["torn"],
        cursor,
        limit: 200,
      });
      seen.push(...page.rows.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toHaveLength(500);
    expect(seen).toEqual([...new Set(seen)].sort().reverse());
  });

  it("comes as a timeline in one small answer: each step once, with the best of its attempts", async () => {
    const timeline = await callAs(test.hub, "viewer").runs.timeline({ run });
    expect(timeline.omitted).toBe(0);
    expect(timeline.lanes.map(({ epoch, nodeName }) => [epoch, nodeName])).toEqual([
      [1, "gpu-1"],
      [2, "gpu-1"],
    ]);
    expect(timeline.lanes.map((lane) => [stepsOf(lane).length, stepsOf(lane)[0], stepsOf(lane).at(-1)])).toEqual([
      [500, 0, 499],
      [2_000, 500, 2_499],
    ]);
    expect(timeline.lanes[1]?.states).toBe("c".repeat(2_000));
    expect(JSON.stringify(timeline).length).toBeLessThan(10_000);
  });

  it("gives only the steps that are asked for", async () => {
    const asked = { run, states: [], kept: null, cursor: null, limit: 50 };
    const page = await listCheckpoints(test.hub, { ...asked, steps: { from: step.parse(700), to: step.parse(702) } });
    expect(page.rows.map((row) => row.step)).toEqual([702, 702, 701, 701, 700, 700]);
  });
});
