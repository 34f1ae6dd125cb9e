import { expect, test } from "vitest";
import { adviceOf, continueFrom, inNamingOrder, type DiskPoint, type RestorePoint } from "./continue-words.ts";

const disk = (changes: Partial<DiskPoint> = {}): DiskPoint => ({
  run: "llama",
  safeStep: null,
  localStep: null,
  localAt: null,
  unsafe: { checkpoints: 0, bytes: 0 },
  ...changes,
});
const ONE = { checkpoints: 1, bytes: 2 * 1024 ** 3 };
const record = (step: number | null, changes: Partial<RestorePoint> = {}): RestorePoint => ({
  run: "llama",
  newest: step === null ? null : { step, isDamaged: false },
  trashedStep: null,
  ...changes,
});
const text = (point: RestorePoint | undefined, known: Partial<DiskPoint> = {}) =>
  adviceOf([continueFrom(disk(known), point)], { node: "gpu-7", total: 1 }).text;

test("the step of the record is advised, also where the node believes in another one", () => {
  expect(text(record(1200), { safeStep: 1200, localStep: 1200 })).toBe(
    "llama can go on from step 1,200 on another node.",
  );
  expect(text(record(1200), { safeStep: 1400, localStep: 1400 })).toBe(
    "llama can go on from step 1,200 on another node.",
  );
});

test("a run of which the record has nothing starts from 0, and what is in the trash can be brought back", () => {
  for (const point of [undefined, record(null)])
    expect(text(point, { safeStep: 300 })).toBe("llama has no safe checkpoint: on another node it starts from 0.");
  expect(text(record(null, { trashedStep: 300 }))).toMatch(/in the trash, the newest at step 300: bring it back/);
});

test("damaged checkpoints are not called ones to go on from", () => {
  const said = text(record(null, { newest: { step: 300, isDamaged: true } }));
  expect(said).toMatch(/only damaged checkpoints, the newest at step 300/);
  expect(said).not.toContain("can go on");
});

test("what only a disk has is said with its step, its bytes, its node and how it becomes safe", () => {
  expect(text(record(1200), { localStep: 1400, unsafe: ONE })).toBe(
    "llama can go on from step 1,200 on another node. Step 1,400 (2.0 GiB not safe) is only on the disk of gpu-7: start its worker again, and it uploads what it captured.",
  );
  expect(text(record(null), { localStep: 200, unsafe: ONE })).toMatch(/starts from 0\. Step 200 .* disk of gpu-7/);
});

test("a step that was safe is not called one that only a disk has, whatever became of it", () => {
  expect(text(record(1200), { safeStep: 1400, localStep: 1400, unsafe: ONE })).not.toContain("disk");
  expect(text(record(1400), { localStep: 1400, unsafe: ONE })).not.toContain("disk");
  expect(text(record(1400), { localStep: 1600 })).not.toContain("disk");
});

test("three runs are named, those with work on the disk alone first, and the others are counted", () => {
  const runs = inNamingOrder([
    disk({ run: "old", localAt: 1 }),
    disk({ run: "b", localAt: 9 }),
    disk({ run: "new", localAt: 9 }),
    disk({ run: "waits", localAt: 0, localStep: 5, unsafe: ONE }),
    disk({ run: "never" }),
  ]);
  expect(runs.map(({ run }) => run)).toEqual(["waits", "b", "new", "old", "never"]);
  const froms = runs.map((one) => continueFrom(one, undefined));
  const advice = adviceOf(froms.slice(0, 4), { node: "gpu-7", total: 5 });
  expect(advice.text).toMatch(/^waits .* b .* new .* And 2 more runs\.$/);
  expect(advice.runs).toHaveLength(4);
  expect(adviceOf(froms, { node: "gpu-7", total: 4 }).text).toMatch(/And 1 more run\.$/);
  expect(adviceOf([], { node: "gpu-7", total: 0 }).text).toBe("");
});
