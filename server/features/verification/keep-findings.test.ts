import { describe, expect, it } from "vitest";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import type { Finding } from "#protocol/checkpoint/findings.ts";
import { findingFolder } from "#protocol/checkpoint/keys.ts";
import { filePath } from "#protocol/base/names.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { getObjectText, putObjectText } from "#storage/s3/objects.ts";
import { CONTROL } from "#storage/testing/spawn-store.ts";
import { node, profileId, store, test } from "#server/testing/pair-for-each.ts";
import { run } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { callAs, type TestHub } from "#server/testing/open-test-hub.ts";
import { emptyDue } from "../retention/empty-trash.ts";
import { historyForEach, idOf, made } from "#server/testing/history-for-each.ts";
import { newId } from "#server/platform/random-id.ts";
import { rebuildFrom, tools, toolsForEach } from "#server/testing/tools-for-each.ts";
import { takeFinding } from "#server/core/record/take-finding.ts";
import { keepFindings } from "./keep-findings.ts";

const DAY_MS = 86_400_000;
let seq = 0;
historyForEach(3, ["--control", CONTROL]);
toolsForEach();

const report: DamageReport = {
  ranges: [
    { path: filePath.parse("model.safetensors"), from: 0, to: 17, fault: { code: "CHECKSUM_MISMATCH" as const } },
  ],
  more: 0,
};
/** The writer of the run tells what it found of one of its checkpoints. */
async function tell(index: number, damage: DamageReport | null): Promise<void> {
  const at = test.hub.now();
  const { checkpointId, step } = made[index] ?? { checkpointId: "", step: 0 };
  const what = { type: "transfer-ended" as const, transferId: newId(), direction: "verify" as const, run };
  const amounts = { bytes: 18, files: 1, sentBytes: 18, startedAt: at - 1_000, retries: 0, connections: 1 };
  const how =
    damage === null
      ? { state: "done" as const, fault: null }
      : { state: "failed" as const, fault: { code: "CHECKPOINT_DAMAGED" as const }, damage };
  const event: NodeEvent = { ...what, ...amounts, ...how, seq: ++seq, at, checkpointId, step, startedBy: "operator" };
  await callAs(test.hub, node.caller).node.record({ events: [event] });
}
const folderOf = (index: number) => findingFolder("team/", { run, checkpointId: idOf(index) });
const objects = (index: number) => keysOf(test.hub, profileId, folderOf(index));
const known = ({ db }: Pick<TestHub["hub"], "db">) =>
  db.checkpoint.findMany({
    orderBy: { step: "asc" },
    select: { id: true, verifiedAt: true, damagedAt: true, damage: true },
  });

describe("what reading a checkpoint back found", () => {
  it("is known again by a hub that is rebuilt from its bucket", async () => {
    await tell(0, null);
    await tell(1, report);
    test.advance(1_000);
    await tell(2, report);
    test.advance(1_000);
    await tell(2, null);
    await keepFindings(test.hub);
    const before = await known(test.hub);
    expect(before.map(({ damagedAt }) => damagedAt !== null)).toEqual([false, true, false]);
    await rebuildFrom(store);
    expect(await known(tools)).toEqual(before);
  });

  it("names no file in the bucket of an encrypted checkpoint, whose names may be hidden", async () => {
    const where = { id: idOf(1) };
    await test.hub.db.checkpoint.update({ where, data: { sealKeyId: "key-of-the-profile" } });
    await tell(0, report);
    await tell(1, report);
    await keepFindings(test.hub);
    const { client } = await test.hub.stores.open(profileId);
    const textOf = async (index: number) => {
      const [key = ""] = await objects(index);
      return (await getObjectText(client, { bucket: "training", key, maxBytes: 10_000 })).text;
    };
    expect(await textOf(0)).toContain("model.safetensors");
    expect(await textOf(1)).not.toContain("model.safetensors");
    expect(await textOf(1)).toContain("CHECKSUM_MISMATCH");
    const row = await test.hub.db.checkpoint.findUnique({ where, select: { damage: true } });
    expect(row?.damage).toContain("model.safetensors");
  });

  it("is said once a day where nothing changes, and each time where something does", async () => {
    test.advance(DAY_MS - (test.hub.now() % DAY_MS));
    for (let hour = 0; hour < 3; hour++) {
      await tell(0, null);
      test.advance(3_600_000);
    }
    await keepFindings(test.hub);
    expect(await objects(0)).toHaveLength(1);
    await tell(0, report);
    await tell(0, null);
    await keepFindings(test.hub);
    expect(await objects(0)).toHaveLength(3);
    test.advance(DAY_MS);
    await tell(0, null);
    await keepFindings(test.hub);
    expect(await objects(0)).toHaveLength(4);
  });

  it("waits for a bucket that is away, over a restart, and is then written once", async () => {
    await tell(0, report);
    const action = { kind: "error", status: 503, code: "SlowDown" };
    await store.control("POST", "/rules", { op: "PutObject", times: 100, action });
    await expect(keepFindings(test.hub)).rejects.toMatchObject({ retry: "backoff" });
    await test.restart();
    await store.control("DELETE", "/rules");
    await keepFindings(test.hub);
    await keepFindings(test.hub);
    expect(await objects(0)).toHaveLength(1);
    expect(await test.hub.db.findingToKeep.count()).toBe(0);
  });

  it("goes with its checkpoint", async () => {
    await tell(0, report);
    await tell(1, report);
    await keepFindings(test.hub);
    await callAs(test.hub, "operator").checkpoints.trash({ id: idOf(0) });
    test.advance(9 * DAY_MS);
    await emptyDue(test.hub, () => false);
    expect(await objects(0)).toEqual([]);
    expect(await objects(1)).toHaveLength(1);
  });

  it("is believed only under the key that it names, and of no other run", async () => {
    const { client } = await test.hub.stores.open(profileId);
    const body = { format: "tidemark.finding", version: 1, id: newId(), run, checkpointId: idOf(1), at: 5 };
    const text = JSON.stringify({ ...body, found: { kind: "damaged", report } });
    for (const name of [`${body.id}.json`, `${newId()}.json`]) {
      await putObjectText(client, { bucket: "training", key: folderOf(0) + name, text });
    }
    expect(await rebuildFrom(store)).toMatchObject({ refused: 2 });
    expect((await known(tools)).every(({ damagedAt }) => damagedAt === null)).toBe(true);
  });
});

it("in whatever order findings are read, the same is held afterwards", async () => {
  const of = { format: "tidemark.finding" as const, version: 1 as const, run, checkpointId: idOf(0) };
  const found = (at: number, kind: "verified" | "damaged"): Finding => ({
    ...of,
    id: newId(),
    at,
    found: kind === "verified" ? { kind } : { kind, report },
  });
  const all = [found(1, "damaged"), found(2, "verified"), found(3, "damaged")];
  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ];
  for (const order of orders) {
    const where = { id: idOf(0) };
    await test.hub.db.checkpoint.update({ where, data: { verifiedAt: null, damagedAt: null, damage: null } });
    for (const index of order) {
      const one = all[index];
      if (one !== undefined) await takeFinding(test.hub.db, profileId, one);
    }
    const [row] = await known(test.hub);
    expect(row).toMatchObject({ verifiedAt: new Date(2), damagedAt: new Date(3) });
  }
});
