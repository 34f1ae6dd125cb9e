import { beforeEach, expect, it } from "vitest";
import { filePath } from "#protocol/base/names.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import { findingKey } from "#protocol/checkpoint/keys.ts";
import type { Finding } from "#protocol/checkpoint/findings.ts";
import { createBucket, PREFIX, RUN, storeCheckpoint } from "../testing/memory-bucket.ts";
import { choosingFrom, newestOf } from "./choose-checkpoint.ts";
import { writeDamage, writeFinding } from "./findings.ts";
import { listSteps } from "./list-steps.ts";
import { createRunRecords } from "./run-record.ts";

let bucket: ReturnType<typeof createBucket>;
beforeEach(() => {
  bucket = createBucket();
});

const report: DamageReport = {
  ranges: [{ path: filePath.parse("weights"), from: 0, to: 9, fault: { code: "CHECKSUM_MISMATCH" } }],
  more: 0,
};
const newestStep = async () => {
  const records = createRunRecords(bucket.calls, PREFIX);
  return (await newestOf(choosingFrom(records, await records.read(RUN))))?.listed.step;
};
/** Writes a finding as a hub does. */
function find(checkpointId: string, at: number, found: Finding["found"]): void {
  const id = `finding-${bucket.objects.size}`;
  const body: Finding = { format: "tidemark.finding", version: 1, id, run: RUN, checkpointId, at, found };
  bucket.objects.set(findingKey(PREFIX, { run: RUN, checkpointId, id }), {
    text: JSON.stringify(body),
    etag: '"f"',
    modifiedAtMs: 1,
  });
}

it("passes over what another node found damaged, until it is read back right", async () => {
  const [, newest = ""] = [10, 20].map((step) => storeCheckpoint(bucket, { epoch: 1, step }));
  expect(await newestStep()).toBe(20);
  await writeDamage({ calls: bucket.calls, prefix: PREFIX }, { run: RUN, checkpointId: newest, report });
  expect(await newestStep()).toBe(10);
  find(newest, bucket.clock.now + 5, { kind: "verified" });
  expect(await newestStep()).toBe(20);
  find(newest, bucket.clock.now + 4, { kind: "damaged", report });
  expect(await newestStep()).toBe(20);
});

it("goes on from no checkpoint of which its node learned later that files are missing, whatever a reading says", async () => {
  const [, newest = ""] = [10, 20].map((step) => storeCheckpoint(bucket, { epoch: 1, step }));
  const at = { calls: bucket.calls, prefix: PREFIX };
  const found = { kind: "doubtful" as const, why: "optim_20.pt is missing" };
  await writeFinding(at, { run: RUN, checkpointId: newest, found });
  find(newest, bucket.clock.now + 5, { kind: "verified" });
  expect(await newestStep()).toBe(10);
  const records = createRunRecords(bucket.calls, PREFIX);
  const { steps } = await listSteps(choosingFrom(records, await records.read(RUN)), { most: 10, width: 4 });
  expect(steps.map(({ step, state, why }) => [step, state, why])).toEqual([
    [20, "doubtful", "optim_20.pt is missing"],
    [10, "newest", null],
  ]);
});

it("takes nothing from a finding that cannot be read, or that lies under another key", async () => {
  const [, newest = ""] = [10, 20].map((step) => storeCheckpoint(bucket, { epoch: 1, step }));
  const key = findingKey(PREFIX, { run: RUN, checkpointId: newest, id: "finding-0001" });
  bucket.objects.set(key, { text: "{", etag: '"f"', modifiedAtMs: 1 });
  expect(await newestStep()).toBe(20);
  find("checkpoint-1-10", 5, { kind: "damaged", report });
  const [moved] = [...bucket.objects].filter(([other]) => other.includes("findings") && other !== key);
  bucket.objects.set(
    findingKey(PREFIX, { run: RUN, checkpointId: newest, id: "finding-0002" }),
    moved?.[1] ?? { text: "", etag: "", modifiedAtMs: 1 },
  );
  expect(await newestStep()).toBe(20);
});
