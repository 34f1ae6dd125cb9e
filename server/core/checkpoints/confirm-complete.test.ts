import { expect, it } from "vitest";
import { deleteObject } from "#storage/s3/objects.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { claim, node, other, pairForEach, profileId, test } from "#server/testing/pair-for-each.ts";
import { keyOf, makeSafe, type Staged } from "#server/testing/stage-checkpoint.ts";

pairForEach();

const confirm = async (who: TestNode, ...staged: Pick<Staged, "checkpointId">[]) =>
  (await callAs(test.hub, who.caller).node.confirmComplete({ checkpointIds: staged.map((one) => one.checkpointId) }))
    .complete;

const remove = async (key: string) =>
  deleteObject((await test.hub.stores.open(profileId)).client, { bucket: "training", key });

it("confirms what is complete in the bucket, and nothing that was removed since, whoever removed it", async () => {
  await claim(node);
  const files = ["model.safetensors", "deep/optimizer.pt"].map((path) => ({ path, text: `bytes of ${path}` }));
  const safe = [];
  for (const step of [100, 200, 300, 400]) safe.push(await makeSafe(test.hub, node, { epoch: 1, step, files }));
  const [whole, trashed, damaged, emptied] = safe.map((one) => one.checkpointId);
  expect(await confirm(node, ...safe)).toEqual([whole, trashed, damaged, emptied]);
  await test.hub.db.checkpoint.update({ where: { id: trashed ?? "" }, data: { state: "trashed" } });
  await test.hub.db.checkpoint.update({ where: { id: damaged ?? "" }, data: { damagedAt: new Date(1) } });
  // By another tool: the hub's own record still says complete.
  for (const one of safe.slice(3)) await remove(keyOf(one, "deep/optimizer.pt"));
  expect(await confirm(node, ...safe, { checkpointId: newId() })).toEqual([whole]);
});

it("confirms to a node what it wrote itself, also when another writes the run now, and nothing of others", async () => {
  await claim(node);
  const own = await makeSafe(test.hub, node, { epoch: 1, step: 100 });
  expect(await confirm(other, own)).toEqual([]);
  await claim(other);
  expect(await confirm(node, own)).toEqual([own.checkpointId]);
  // It goes on with the run, and may have restored it.
  expect(await confirm(other, own)).toEqual([own.checkpointId]);
  const later = await makeSafe(test.hub, other, { epoch: 2, step: 200 });
  expect(await confirm(node, later)).toEqual([]);
});

it("confirms nothing while the bucket gives no answer", async () => {
  await claim(node);
  const safe = await makeSafe(test.hub, node, { epoch: 1, step: 100 });
  await test.hub.db.profile.update({ where: { id: profileId }, data: { endpoint: "http://127.0.0.1:9" } });
  test.hub.stores.forget(profileId);
  expect(await confirm(node, safe)).toEqual([]);
});
