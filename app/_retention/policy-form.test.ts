import { expect, test } from "vitest";
import { NO_RULES } from "#protocol/retention/keeping.ts";
import { formOfPolicy, readPolicy } from "./policy-form.ts";
import { policyWords } from "./policy-words.ts";

const FULL = {
  ...NO_RULES,
  last: 3,
  everySteps: 1_000,
  everyMs: 12 * 3_600_000,
  best: { metric: "loss", want: "min" as const, count: 2 },
  mostBytes: 500_000_000_000,
  trashMs: 14 * 86_400_000,
};

test("what is stored is shown as it would be typed, and read as it was", () => {
  for (const policy of [NO_RULES, FULL, { ...FULL, everyMs: 2 * 86_400_000, mostBytes: 123_456_789 }]) {
    expect(readPolicy(formOfPolicy(policy))).toEqual({ ok: true, policy });
  }
  expect(readPolicy(formOfPolicy(null))).toEqual({ ok: true, policy: NO_RULES });
});

test.each([
  [{ last: "many" }, "last"],
  [{ last: "0" }, "last"],
  [{ every: "-1" }, "every"],
  [{ mostBytes: "a lot" }, "mostBytes"],
  [{ metric: "loss" }, "bestCount"],
  [{ bestCount: "3" }, "metric"],
  [{ trashDays: "0.5" }, "trashDays"],
])("what cannot be is said at its field: %j", (typed, field) => {
  const read = readPolicy({ ...formOfPolicy(null), ...typed });
  expect(read.ok ? [] : Object.keys(read.errors)).toEqual([field]);
});

test("a policy is a sentence", () => {
  expect(policyWords(null)).toBe("Everything is kept.");
  expect(policyWords(NO_RULES)).toBe("Everything is kept.");
  expect(policyWords(FULL)).toBe(
    "Keeps the last 3, one every 1,000 steps, one every 12 h, the 2 with the lowest loss, at most 466 GiB; the trash keeps 14 d.",
  );
  expect(policyWords({ ...NO_RULES, mostBytes: 1_000_000 })).toBe("Keeps at most 977 KiB; the trash keeps 7 d.");
});
