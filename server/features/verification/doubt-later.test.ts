import { expect, it } from "vitest";
import { findingFolder } from "#protocol/checkpoint/keys.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { CONTROL } from "#storage/testing/spawn-store.ts";
import { newestComplete } from "#server/core/runs/newest.ts";
import { historyForEach, idOf } from "#server/testing/history-for-each.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { node, other, profileId, store, test } from "#server/testing/pair-for-each.ts";
import { run } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { rebuildFrom, tools, toolsForEach } from "#server/testing/tools-for-each.ts";
import { keepFindings } from "./keep-findings.ts";

historyForEach(3, ["--control", CONTROL]);
toolsForEach();

const WHY = "optim_30.pt is missing, which the other steps have";
const doubt = (who = node) => callAs(test.hub, who.caller).node.doubt({ checkpointId: idOf(2), why: WHY });
const doubtOf = async ({ db }: Pick<typeof test.hub, "db">) =>
  (await db.checkpoint.findUniqueOrThrow({ where: { id: idOf(2) } })).doubt;

it("makes a complete checkpoint doubtful, so that nothing goes on from it, also at a hub that is rebuilt from its bucket", async () => {
  expect((await newestComplete(test.hub.db, run))?.id).toBe(idOf(2));
  await doubt();
  await doubt();
  expect(await doubtOf(test.hub)).toBe(WHY);
  expect((await newestComplete(test.hub.db, run))?.id).toBe(idOf(1));
  await keepFindings(test.hub);
  expect(await keysOf(test.hub, profileId, findingFolder("team/", { run, checkpointId: idOf(2) }))).toHaveLength(1);
  await rebuildFrom(store);
  expect(await doubtOf(tools)).toBe(WHY);
});

it("takes the word of the node that wrote it alone, and tells no name of an encrypted one", async () => {
  await expect(doubt(other)).rejects.toEqual(fault("NOT_THIS_NODES"));
  expect(await doubtOf(test.hub)).toBeNull();
  await test.hub.db.checkpoint.update({ where: { id: idOf(2) }, data: { sealKeyId: "key-of-the-profile" } });
  await doubt();
  expect(await doubtOf(test.hub)).toBe("it may not be whole; its node says why");
  await keepFindings(test.hub);
  const [key = ""] = await keysOf(test.hub, profileId, findingFolder("team/", { run, checkpointId: idOf(2) }));
  const { client } = await test.hub.stores.open(profileId);
  expect((await getObjectText(client, { bucket: "training", key, maxBytes: 10_000 })).text).not.toContain("optim");
});
