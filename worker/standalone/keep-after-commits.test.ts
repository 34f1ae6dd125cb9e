import { expect, test } from "vitest";
import { nodeName, runName, type RunName } from "#protocol/base/names.ts";
import { createBucket, PREFIX, RUN } from "../testing/memory-bucket.ts";
import { createRetentionRunner } from "./keep-after-commits.ts";
import { createRestoreLeases } from "./restore-leases.ts";
import { createRunRecords } from "./run-record.ts";

/** A runner without `--keep`, and what it says. */
function startWithoutRules() {
  const { calls } = createBucket();
  const said: [string, Record<string, unknown>][] = [];
  const runner = createRetentionRunner({
    calls,
    records: createRunRecords(calls, PREFIX),
    prefix: PREFIX,
    restores: createRestoreLeases({ calls, prefix: PREFIX }, { id: "node-0001", name: nodeName.parse("one") }),
    damaged: new Set(),
    node: "one",
    policy: null,
    say: (sentence, facts) => void said.push([sentence, facts]),
    assertWriter: () => Promise.resolve(),
    keepsVersions: () => Promise.resolve(null),
  });
  return { runner, said };
}

const GIB = 1024 ** 3;
const HOUR_MS = 3_600_000;

test("without rules the growth of each run is said once, after its third commit", () => {
  const { runner, said } = startWithoutRules();
  const commit = (run: RunName, hour: number) =>
    runner.committed({ run, writerEpoch: 1, sizeBytes: GIB, capturedAt: hour * HOUR_MS });
  for (const hour of [0, 2]) commit(RUN, hour);
  expect(said).toEqual([]);
  for (const hour of [4, 6, 8, 10]) commit(RUN, hour);
  // Two more checkpoints in four hours are twelve a day.
  expect(said).toEqual([
    [
      `Checkpoints of ${RUN} grow by about 12.0 GiB a day, and nothing is removed; --keep last=3 would keep the newest 3.`,
      { type: "growth", run: RUN, bytesPerDay: 12 * GIB },
    ],
  ]);
  const other = runName.parse("other");
  for (const hour of [0, 1, 2]) commit(other, hour);
  expect(said.map(([, { run }]) => run)).toEqual([RUN, other]);
});

test("commits that follow each other at once tell nothing of a day", () => {
  const { runner, said } = startWithoutRules();
  for (const at of [0, 1, 2, 3]) runner.committed({ run: RUN, writerEpoch: 1, sizeBytes: GIB, capturedAt: at });
  expect(said).toEqual([]);
});
