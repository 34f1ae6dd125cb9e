import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { addTestNode, addTestProfile, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import type { Hub } from "../api/hub.ts";
import { getCheckpoint } from "./get.ts";
import { listCheckpoints } from "./list-checkpoints.ts";
import { getRun } from "./runs.ts";

/** A checkpoint becomes complete between any two reads of a view: the view is of one moment. */

const run = runName.parse("llama");
const ID = "checkpoint-500";
let test: TestHub;
beforeAll(async () => {
  test = await openTestHub();
  const { db } = test.hub;
  const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  const { nodeId } = await addTestNode(test.hub, profileId, "gpu-1");
  const at = new Date(1_000);
  await db.run.create({ data: { name: run, profileId, createdAt: at } });
  await db.epoch.create({ data: { run, epoch: 1, nodeId, claimedAt: at } });
  await db.checkpoint.create({
    data: {
      id: ID,
      run,
      step: 500n,
      writerEpoch: 1,
      attempt: "attempt000500",
      nodeId,
      profileId,
      bucket: "training",
      prefix: "team/",
      state: "uploading",
      metrics: "{}",
      fileCount: 1,
      sizeBytes: 10n,
      capturedAt: at,
      announcedAt: at,
    },
  });
});
afterAll(() => test.close());
beforeEach(() => test.hub.db.checkpoint.update({ where: { id: ID }, data: { state: "uploading" } }));

const complete = async () => test.hub.db.checkpoint.update({ where: { id: ID }, data: { state: "complete" } });

/** Enough for a statement of another caller, when nothing holds it back. */
const TURNS = 50;

/** The same hub; the checkpoint becomes complete after read number `after` of a view. `committed` settles with it. */
function committingAfter(after: number): { hub: Hub; committed: () => Promise<unknown> } {
  let reads = 0;
  let commit: Promise<unknown> | null = null;
  const db = test.hub.db.$extends({
    query: {
      $allModels: {
        $allOperations: async ({ args, query }) => {
          const answer: unknown = await query(args);
          if (++reads === after) {
            commit = complete();
            for (let turn = 0; turn < TURNS; turn++) await new Promise((done) => setImmediate(done));
          }
          return answer;
        },
      },
    },
  });
  return { hub: { ...test.hub, db: db as Hub["db"] }, committed: async () => commit };
}

interface Seen {
  state: string;
  isNewest: boolean;
}

const VIEWS: readonly { title: string; read: (hub: Hub) => Promise<Seen | undefined> }[] = [
  {
    title: "of a run",
    read: async (hub) => {
      const view = await getRun(hub, run);
      const [row] = view.checkpoints;
      expect(view.complete).toBe(row?.state === "complete" ? 1 : 0);
      expect(view.newestStep).toBe(row?.state === "complete" ? 500 : null);
      return row;
    },
  },
  {
    title: "of a page of checkpoints",
    read: async (hub) =>
      (await listCheckpoints(hub, { run, states: [], kept: null, cursor: null, limit: 10 })).rows.at(0),
  },
  { title: "of a checkpoint", read: (hub) => getCheckpoint(hub, ID) },
];

describe.each(VIEWS)("the view $title", ({ read }) => {
  it.each([1, 2, 3, 4, 5])("agrees with itself when a checkpoint becomes complete after read %i", async (after) => {
    const { hub, committed } = committingAfter(after);
    const seen = await read(hub);
    await committed();
    expect(seen).toBeDefined();
    expect(seen?.isNewest).toBe(seen?.state === "complete");
  });
});
