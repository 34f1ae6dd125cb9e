import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DatabaseSync } from "node:sqlite";
import { readMigrations } from "#prisma/migrate.ts";
import { runName } from "#protocol/base/names.ts";
import { addTestNode, addTestProfile, callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { thinned } from "./run-metrics.ts";

/** A run of two epochs: 2,000 checkpoints with a loss, every tenth with a second one, and some that do not count. */

const run = runName.parse("llama");
let test: TestHub;
const ask = (input: Partial<{ names: string[]; steps: { from: number; to: number } | null; points: number }> = {}) =>
  callAs(test.hub, "viewer").runs.metrics({ run, ...input });

beforeAll(async () => {
  test = await openTestHub();
  const { db } = test.hub;
  const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  const { nodeId } = await addTestNode(test.hub, profileId, "gpu-1");
  const at = new Date(1_000);
  await db.run.create({ data: { name: run, profileId, createdAt: at } });
  for (const epoch of [1, 2]) await db.epoch.create({ data: { run, epoch, nodeId, claimedAt: at } });
  const rows = Array.from({ length: 2_000 }, (_, index) => {
    const [writerEpoch, step] = index < 1_500 ? [1, index * 10] : [2, (index - 1_500) * 10 + 5_000];
    const metrics = {
      step,
      loss: 1 / (step + 1),
      ...(index % 10 === 0 ? { "eval/loss": step / 2, grad_norm: 1 } : {}),
    };
    return {
      id: `checkpoint-${index}`,
      run,
      step: BigInt(step),
      writerEpoch,
      attempt: `attempt${index}`,
      nodeId,
      profileId,
      bucket: "training",
      prefix: "",
      state: index % 100 === 7 ? "trashed" : "complete",
      role: index === 42 ? "final-model" : null,
      metrics: index === 1 ? "no JSON" : JSON.stringify(metrics),
      fileCount: 1,
      sizeBytes: 10n,
      capturedAt: at,
      announcedAt: at,
    };
  });
  for (let first = 0; first < rows.length; first += 500)
    await db.checkpoint.createMany({ data: rows.slice(first, first + 500) });
});
afterAll(() => test.close());

describe("metrics of a run", () => {
  it("are told for each epoch over its steps, a loss first, and none that only counts", async () => {
    const { names, metrics } = await ask();
    expect(names).toEqual(["loss", "eval/loss", "grad_norm"]);
    expect(metrics.map(({ name, lines }) => [name, lines.map(({ epoch }) => epoch)])).toEqual([
      ["loss", [2, 1]],
      ["eval/loss", [2, 1]],
      ["grad_norm", [2, 1]],
    ]);
    const newest = metrics[0]?.lines[0];
    expect([newest?.steps[0], newest?.steps.at(-1)]).toEqual([5_000, 9_990]);
    expect(newest?.values[0]).toBeCloseTo(1 / 5_001);
    expect(newest?.ids[0]).toBe("checkpoint-1500");
  });

  it("have at most so many points each, evenly, with the first and the last", async () => {
    const { metrics } = await ask({ points: 50 });
    for (const { lines } of metrics) for (const { steps } of lines) expect(steps.length).toBeLessThanOrEqual(50);
    const [line] = metrics[0]?.lines.filter(({ epoch }) => epoch === 1) ?? [];
    expect(line?.steps).toHaveLength(50);
    expect([line?.steps[0], line?.steps.at(-1)]).toEqual([0, 14_990]);
    const widest = Math.max(...(line?.steps ?? []).slice(1).map((step, index) => step - (line?.steps[index] ?? 0)));
    expect(widest).toBeLessThan(3 * (14_990 / 49));
  });

  it("have every checkpoint where a part of the steps is looked at, without those that do not count", async () => {
    const { metrics } = await ask({ names: ["loss"], steps: { from: 0, to: 500 } });
    const steps = metrics[0]?.lines[0]?.steps ?? [];
    // Unreadable, in the trash, and the final model.
    expect(steps).toEqual(
      Array.from({ length: 51 }, (_, index) => index * 10).filter((step) => ![10, 70, 420].includes(step)),
    );
    expect(metrics).toHaveLength(1);
  });

  it("include the checkpoint of a step that has a final model too, and the last one before a final model", async () => {
    const { checkpoint } = test.hub.db;
    // The index has rows of the same step in the order in which they were inserted.
    await checkpoint.update({ where: { id: "checkpoint-299" }, data: { role: "final-model", step: 3_000n } });
    await checkpoint.update({ where: { id: "checkpoint-1498" }, data: { role: "final-model", step: 14_995n } });
    const idsOf = async (steps: { from: number; to: number }) =>
      (await ask({ names: ["loss"], steps, points: 10 })).metrics[0]?.lines.find(({ epoch }) => epoch === 1)?.ids;
    expect(await idsOf({ from: 3_000, to: 3_000 })).toEqual(["checkpoint-300"]);
    expect((await idsOf({ from: 10_000, to: 15_000 }))?.at(-1)).toBe("checkpoint-1499");
  });

  it("of a run or with a name that is not there are not found, or empty", async () => {
    expect((await ask({ names: ["no-such"] })).metrics).toEqual([{ name: "no-such", lines: [] }]);
    await expect(callAs(test.hub, "viewer").runs.metrics({ run: runName.parse("none") })).rejects.toEqual(
      fault("NOT_FOUND"),
    );
    await expect(ask({ points: 100_000 })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("are sought in an index, not read", async () => {
    const plain = new DatabaseSync(":memory:");
    for (const { sql } of await readMigrations()) plain.exec(sql);
    const plan = plain
      .prepare(
        `EXPLAIN QUERY PLAN SELECT "rowid" FROM "Checkpoint" WHERE "run" = 'a' AND "state" = 'complete'
         AND "writerEpoch" = 1 AND "role" IS NULL AND "step" >= 5 AND "step" <= 9 ORDER BY "step" LIMIT 1`,
      )
      .all();
    plain.close();
    expect(plan.map(({ detail }) => String(detail)).join("\n")).toMatch(
      /SEARCH Checkpoint USING INDEX Checkpoint_run_state_writerEpoch_step_idx \(run=\? AND state=\? AND writerEpoch=\? AND step>\? AND step<\?\)$/,
    );
  });
});

it("thins evenly", () => {
  expect(thinned([1, 2, 3, 4, 5, 6, 7], 3)).toEqual([1, 4, 7]);
  expect(thinned([1, 2], 3)).toEqual([1, 2]);
});
