import { expect, it } from "vitest";
import { textColumns } from "../testing/test-database.ts";
import { announce, run } from "../testing/stage-checkpoint.ts";
import { claim, node, pairForEach, test } from "../testing/pair-for-each.ts";
import { callAs } from "../testing/open-test-hub.ts";
import { storedFault } from "../core/events/event-row.ts";

pairForEach();

const BAD = '{"bad';

/** Something in every column that holds JSON, then none of it can be read. Returns the columns. */
async function spoilAll(): Promise<string[]> {
  const { db } = test.hub;
  const { epoch } = await claim(node);
  await announce(test.hub, node, { epoch, step: 1 });
  const at = new Date(1_000);
  const json = "{}";
  await db.checkpoint.updateMany({
    data: { state: "complete", committedAt: at, metrics: json, damage: json, damagedAt: at },
  });
  await db.profile.updateMany({ data: { lastTest: json, prices: json, found: json } });
  await db.node.updateMany({ data: { lastReport: json } });
  await db.event.create({ data: { at, kind: "work-lost", work: "risk", text: "lost", fault: json } });
  for (const [kind, profileId] of [
    ["backup", null],
    ["janitor", (await db.profile.findFirstOrThrow()).id],
  ] as const)
    await db.upkeepRun.create({ data: { kind, profileId, startedAt: at, endedAt: at, result: json, fault: json } });
  const about = { profileId: "p", profileName: "p", bucket: "b", startedBy: "a", plannedAt: at };
  const told = { asked: json, plan: json, faults: json, fault: json };
  await db.bucketJob.create({ data: { id: "job-0001", action: "delete", state: "failed", ...about, ...told } });
  const spoiled: string[] = [];
  for (const { table, name } of await textColumns(db)) {
    const where = `"${name}" LIKE '{%' OR "${name}" LIKE '[%'`;
    const count = await db.$executeRawUnsafe(`UPDATE "${table}" SET "${name}" = '${BAD}' WHERE ${where}`);
    if (count > 0) spoiled.push(`${table}.${name}`);
  }
  return spoiled;
}

it("rows that cannot be read fail no list and no start of the hub, and are shown as such", async () => {
  expect(await spoilAll()).toEqual(
    expect.arrayContaining([
      "AlertRule.params",
      "AlertRule.scope",
      "AlertRule.channels",
      "BucketJob.asked",
      "BucketJob.plan",
      "BucketJob.faults",
      "BucketJob.fault",
      "Checkpoint.metrics",
      "Checkpoint.damage",
      "Event.fault",
      "Node.facts",
      "Node.lastReport",
      "Profile.found",
      "Profile.lastTest",
      "Profile.prices",
      "UpkeepRun.fault",
      "UpkeepRun.result",
    ]),
  );
  await test.restart();
  const admin = callAs(test.hub, "admin");
  const rules = await admin.alerts.rules.list();
  expect(rules.length).toBeGreaterThan(5);
  for (const { rule } of rules) expect(rule).toMatchObject({ isEnabled: false, name: / \(cannot be read\)$/ });
  expect(await admin.profiles.list()).toMatchObject([{ lastTest: null }]);
  expect(await admin.nodes.list()).toHaveLength(2);
  const { checkpoints } = await admin.runs.get({ run });
  expect(checkpoints).toMatchObject([{ metrics: {}, damage: { ranges: [], more: 0 } }]);
  expect(await admin.runs.list()).toHaveLength(1);
  const { rows } = await admin.events.list({ nodeId: null, run: null, cursor: null, limit: 50 });
  expect(rows.find(({ kind }) => kind === "work-lost")?.fault).toEqual({ code: "INTERNAL" });
  expect(await admin.upkeep.status()).toMatchObject({ lastBackup: { file: null, fault: { code: "INTERNAL" } } });
  const jobs = JSON.stringify(await admin.bucket.jobs({ profileId: null }));
  expect(jobs).toContain("job-0001");
  expect(jobs).toContain("INTERNAL");
});

it("a fault that cannot be read is one all the same", () => {
  expect(storedFault(BAD)).toEqual({ code: "INTERNAL" });
  expect(storedFault(null)).toBeNull();
});
