import { expect, it } from "vitest";
import { isPostgres } from "#server/testing/test-database.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { claim, node, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { attemptId, filePath } from "#protocol/base/names.ts";
import { announce, run } from "#server/testing/stage-checkpoint.ts";

pairForEach();

// Versions that stored such sizes ran on SQLite alone.
it.skipIf(isPostgres)("a size from before they were bounded is cut, and every list shows its row", async () => {
  const { epoch } = await claim(node);
  const { checkpointId } = await announce(test.hub, node, { epoch, step: 1 });
  await announce(test.hub, node, { epoch, step: 2 });
  await test.hub.db.$executeRaw`UPDATE "Checkpoint" SET "sizeBytes" = 9223372036854775000 WHERE "id" = ${checkpointId}`;
  await expect(callAs(test.hub, "viewer").runs.get({ run })).rejects.toThrow();
  await test.restart();
  const { checkpoints } = await callAs(test.hub, "viewer").runs.get({ run });
  expect(checkpoints.map(({ sizeBytes }) => sizeBytes)).toContain(Number.MAX_SAFE_INTEGER);
  expect(await callAs(test.hub, "viewer").runs.list()).toHaveLength(1);
});

it("a row with more metrics than there may be is shown without them by every list, and the others with theirs", async () => {
  const { epoch } = await claim(node);
  const { checkpointId } = await announce(test.hub, node, { epoch, step: 1 });
  const other = await announce(test.hub, node, { epoch, step: 2 });
  const stored = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`m${index}`, index])));
  await test.hub.db.checkpoint.updateMany({ data: { state: "complete", committedAt: new Date(1) } });
  await test.hub.db.checkpoint.update({ where: { id: checkpointId }, data: { metrics: stored } });
  await test.hub.db.checkpoint.update({ where: { id: other.checkpointId }, data: { metrics: '{"loss":1}' } });
  const viewer = callAs(test.hub, "viewer");
  const { checkpoints } = await viewer.runs.get({ run });
  expect(new Map(checkpoints.map(({ id, metrics }) => [id, metrics]))).toEqual(
    new Map<string, object>([
      [checkpointId, {}],
      [other.checkpointId, { loss: 1 }],
    ]),
  );
  expect(JSON.stringify(await viewer.runs.list()).length).toBeLessThan(5_000);
  expect(JSON.stringify(await viewer.checkpoints.get({ id: checkpointId })).length).toBeLessThan(50_000);
  expect(JSON.stringify(await viewer.keeping.preview({ run, policy: null })).length).toBeLessThan(50_000);
});

it("of many bytes announced at once the sum is refused, and what is taken never fails the list of runs", async () => {
  const { epoch } = await claim(node);
  const about = { run, writerEpoch: epoch, framework: null, capturedAt: 1 };
  const huge = (step: number, files: number) =>
    callAs(test.hub, node.caller).node.announce({
      ...about,
      step,
      checkpointId: `checkpoint-${step}`,
      attempt: attemptId.parse(`attempt0000${step}`),
      files: Array.from({ length: files }, (_, index) => ({ path: filePath.parse(`f${index}`), sizeBytes: 2 ** 50 })),
    });
  await expect(huge(1, 2)).rejects.toThrow("no store holds as many bytes");
  for (let step = 2; step < 30; step++) await huge(step, 1);
  expect(await callAs(test.hub, "viewer").runs.list()).toMatchObject([{ uploading: 28 }]);
  expect(await callAs(test.hub, "viewer").profiles.list()).toHaveLength(1);
});
