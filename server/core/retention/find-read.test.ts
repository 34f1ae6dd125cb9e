import { expect, it } from "vitest";
import { NO_RULES } from "#protocol/retention/keeping.ts";
import { runName } from "#protocol/base/names.ts";
import { other, profileId, test } from "#server/testing/pair-for-each.ts";
import { run } from "#server/testing/stage-checkpoint.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { newId } from "#server/platform/random-id.ts";
import { applyPolicies } from "#server/features/retention/apply-policy.ts";
import { findRead } from "./find-read.ts";
import { historyForEach, idOf } from "#server/testing/history-for-each.ts";
import { stepsIn } from "#server/testing/stage-history.ts";
import { takeRecord } from "./take-record.ts";

historyForEach(3);

const ask = () => callAs(test.hub, "admin");
const firstId = (): string => idOf(0);
/** A restore of the oldest checkpoint that its node cannot hear of: it has to wait. */
async function queueFirst(): Promise<string> {
  await ask().restores.setCap({ profileId, atOnce: 1 });
  test.advance(60_000);
  await markSilentNodes(test.hub);
  const wanted = { requestId: newId(), checkpointId: firstId(), nodeIds: [other.nodeId], targetPath: "/data/c" };
  const { restores } = await ask().restores.start(wanted);
  expect(await test.hub.db.command.count({ where: { kind: "restore" } })).toBe(0);
  return restores[0]?.transferId ?? "";
}
const cancel = (transferId: string) => ask().transfers.act({ requestId: newId(), transferId, action: "cancel" });

it("a restore that waits for its turn keeps its checkpoint from policies and from the trash until it is cancelled", async () => {
  const transferId = await queueFirst();
  expect(await findRead(test.hub.db, run)).toEqual(new Set([firstId()]));
  await ask().keeping.setPolicy({ run, policy: { ...NO_RULES, last: 1 }, version: 0 });
  await applyPolicies(test.hub, () => false);
  expect(await stepsIn(test, "trashed")).toEqual([200]);
  await expect(ask().checkpoints.trash({ id: firstId() })).rejects.toThrow(fault("CHECKPOINT_KEPT"));
  await cancel(transferId);
  await applyPolicies(test.hub, () => false);
  expect(await stepsIn(test, "trashed")).toEqual([100, 200]);
});

it("nothing that somebody waits for is deleted, however it came into the trash", async () => {
  const transferId = await queueFirst();
  // What another hub said of it is read from the bucket later.
  const word = { kind: "trash" as const, until: 1, why: "elsewhere" };
  const of = { format: "tidemark.keeping" as const, version: 1 as const, id: newId(), run: runName.parse(run) };
  const record = { ...of, checkpointId: firstId(), at: 1, by: "hub", ends: [], word };
  await test.hub.db.$transaction((tx) => takeRecord(tx, record, { key: "elsewhere" }));
  expect(await stepsIn(test, "trashed")).toEqual([100]);
  test.advance(30 * 3_600_000);
  expect(await ask().keeping.emptyNow({ ids: [firstId()] })).toMatchObject({ begun: 0, kept: 1 });
  await cancel(transferId);
  expect(await ask().keeping.emptyNow({ ids: [firstId()] })).toMatchObject({ begun: 1, kept: 0 });
});
