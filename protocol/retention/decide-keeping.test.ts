import { describe, expect, it, test } from "vitest";
import { byNewest } from "../checkpoint/checkpoint.ts";
import { decideKeeping, protectedBy, reasonWords, type KeepCandidate, type KeepHistory } from "./decide-keeping.ts";
import { NO_RULES, type KeepPolicy } from "./keeping.ts";
import { randomFrom } from "../base/random-from.ts";

const HOUR_MS = 3_600_000;

const one = (step: number, changes: Partial<KeepCandidate> = {}): KeepCandidate => ({
  id: `checkpoint-${changes.writerEpoch ?? 1}-${step}`,
  step,
  writerEpoch: 1,
  state: "complete",
  capturedAt: step * 1_000,
  sizeBytes: 100,
  metrics: {},
  verifiedAt: null,
  isDamaged: false,
  isPinned: false,
  tags: [],
  isRestoring: false,
  wasBroughtBack: false,
  ...changes,
});
const steps = (count: number, every = 100): KeepCandidate[] =>
  Array.from({ length: count }, (_, index) => one((index + 1) * every));
const history = (checkpoints: KeepCandidate[], parents: KeepHistory["parents"] = []): KeepHistory => ({
  checkpoints,
  parents,
});
/** Steps that stay, oldest first. */
const stayed = (policy: Partial<KeepPolicy>, known: KeepHistory): number[] =>
  decideKeeping({ ...NO_RULES, ...policy }, known)
    .filter(({ fate }) => fate === "stays")
    .map(({ step }) => step)
    .toReversed();

describe("a policy", () => {
  it("without any rule keeps everything", () => {
    expect(stayed({}, history(steps(5)))).toEqual([100, 200, 300, 400, 500]);
    expect(decideKeeping(null, history(steps(2))).map(({ because }) => because.map(reasonWords))).toEqual([
      ["the newest complete one", "no rule is set"],
      ["no rule is set"],
    ]);
  });

  it("keeps the last N: highest epoch first, then the highest step", () => {
    expect(stayed({ last: 2 }, history(steps(5)))).toEqual([400, 500]);
    const rewound = history([...steps(5), one(150, { writerEpoch: 2 })]);
    expect(stayed({ last: 2 }, rewound)).toEqual([500, 150]);
  });

  it("keeps the newest of each line that ended because training began anew", () => {
    const anew = [...steps(3), one(50, { writerEpoch: 2 }), one(90, { writerEpoch: 2 })];
    expect(stayed({ last: 1 }, history(anew))).toEqual([90]);
    expect(stayed({ last: 1 }, { ...history(anew), fresh: [1, 2] })).toEqual([300, 90]);
    // What was adopted is no line of the run's own.
    const adopted = [one(700, { writerEpoch: 0 }), one(10)];
    expect(stayed({ last: 1 }, { ...history(adopted), fresh: [1] })).toEqual([10]);
  });

  it("keeps the first of each stretch of steps, and the same one tomorrow", () => {
    expect(stayed({ everySteps: 1_000 }, history(steps(35)))).toEqual([100, 1_000, 2_000, 3_000, 3_500]);
    expect(stayed({ everySteps: 1_000 }, history(steps(36)))).toEqual([100, 1_000, 2_000, 3_000, 3_600]);
    const off = history([one(990), one(1_040), one(1_080), one(2_010), one(2_500)]);
    expect(stayed({ everySteps: 1_000 }, off)).toEqual([990, 1_040, 2_010, 2_500]);
  });

  it("keeps the first of each stretch of time", () => {
    const hourly = Array.from({ length: 12 }, (_, index) => one(index + 1, { capturedAt: index * HOUR_MS }));
    expect(stayed({ everyMs: 6 * HOUR_MS }, history(hourly))).toEqual([1, 7, 12]);
  });

  it("never lets a damaged one take the place of one that is whole", () => {
    const known = history(steps(5).map((each) => ({ ...each, isDamaged: each.step >= 400 })));
    expect(stayed({ last: 1 }, known)).toEqual([300, 500]);
    expect(stayed({ last: 2 }, known)).toEqual([200, 300, 400, 500]);
    const reasons = protectedBy(known);
    expect([...reasons].map(([id, because]) => [id, because.map(({ kind }) => kind)])).toEqual([
      ["checkpoint-1-500", ["newest"]],
      ["checkpoint-1-300", ["whole"]],
    ]);
    expect(stayed({ mostBytes: 100 }, known)).toEqual([300, 500]);
  });

  it("keeps the best by a metric, down or up, and counts none that lacks it", () => {
    const losses = [5, 1, 4, Number.NaN, 2].map((loss, index) => one(index + 1, { metrics: { loss } }));
    const known = history([...losses, one(6), one(7)]);
    expect(stayed({ best: { metric: "loss", want: "min", count: 2 } }, known)).toEqual([2, 5, 7]);
    expect(stayed({ best: { metric: "loss", want: "max", count: 1 } }, known)).toEqual([1, 7]);
    expect(stayed({ best: { metric: "constructor", want: "max", count: 1 } }, known)).toEqual([7]);
  });

  it("keeps what any of its rules keeps, and says all that keep it", () => {
    const known = history(steps(20).map((step) => ({ ...step, metrics: { loss: step.step === 700 ? 0 : 1 } })));
    const policy = {
      ...NO_RULES,
      last: 2,
      everySteps: 1_000,
      best: { metric: "loss", want: "min" as const, count: 1 },
    };
    expect(stayed(policy, known)).toEqual([100, 700, 1_000, 1_900, 2_000]);
    const newest = decideKeeping(policy, known)[0];
    expect(newest?.because.map(reasonWords)).toEqual([
      "the newest complete one",
      "one of the last 2",
      "one every 1000 steps",
    ]);
    expect(decideKeeping(policy, known)[2]?.because.map(reasonWords)).toEqual(["no rule keeps it"]);
  });

  it("lets the oldest go until the bytes fit, the best by metric after all others", () => {
    expect(stayed({ mostBytes: 300 }, history(steps(5)))).toEqual([300, 400, 500]);
    const known = history(steps(5).map((step) => ({ ...step, metrics: { loss: step.step } })));
    const best = { metric: "loss", want: "min" as const, count: 1 };
    expect(stayed({ last: 5, best, mostBytes: 300 }, known)).toEqual([100, 400, 500]);
    const goes = decideKeeping({ ...NO_RULES, mostBytes: 300 }, known).at(-1);
    expect(goes?.because.map(reasonWords)).toEqual(["more than 300 B"]);
  });

  it("lets nothing protected go for the bytes' sake", () => {
    const known = history([one(100, { isPinned: true }), one(200, { tags: ["best"] }), one(300), one(400)]);
    expect(stayed({ mostBytes: 1 }, known)).toEqual([100, 200, 400]);
  });

  it("moves nothing to the trash again that somebody brought back", () => {
    expect(
      stayed({ last: 1, mostBytes: 1 }, history([one(100, { wasBroughtBack: true }), one(200), one(300)])),
    ).toEqual([100, 300]);
  });
});

describe("protection", () => {
  const words = (known: KeepHistory, step: number): string[] =>
    (protectedBy(known).get(`checkpoint-1-${step}`) ?? []).map(reasonWords);

  it("is said for each reason", () => {
    const known = history(
      [
        one(100, { verifiedAt: 9 }),
        one(200, { isPinned: true, tags: ["best", "release-1"] }),
        one(300, { isRestoring: true }),
        one(400, { verifiedAt: 5 }),
        one(450, { verifiedAt: 1 }),
        one(500),
        one(600, { state: "uploading" }),
      ],
      [{ epoch: 1, step: 450 }],
    );
    expect(words(known, 100)).toEqual(["the last verified one"]);
    expect(words(known, 200)).toEqual(["pinned", "tagged best, release-1"]);
    expect(words(known, 300)).toEqual(["a node restores it"]);
    expect(words(known, 400)).toEqual([]);
    expect(words(known, 450)).toEqual(["the last verified one", "an epoch started from it"]);
    expect(words(known, 500)).toEqual(["the newest complete one"]);
    expect(words(known, 600)).toEqual(["still uploading"]);
    expect(words(history([one(100), one(200, { state: "torn" })]), 100)).toEqual([
      "the newest complete one",
      "the only complete one",
    ]);
  });
});

test("five thousand policies over five thousand histories let nothing protected go", () => {
  let went = 0;
  let capped = 0;
  for (let seed = 1; seed <= 5_000; seed++) {
    const random = randomFrom(seed);
    const below = (count: number): number => Math.floor(random() * count);
    const maybe = <T>(value: () => T): T | null => (random() < 0.5 ? null : value());
    const checkpoints = Array.from({ length: below(40) }, (_, index) => {
      const state = (["complete", "complete", "complete", "uploading", "torn", "superseded"] as const)[below(6)];
      return one(below(30) * 50, {
        id: `id-${index}`,
        writerEpoch: 1 + below(3),
        state: state ?? "complete",
        capturedAt: below(100) * HOUR_MS,
        sizeBytes: below(1_000),
        metrics: random() < 0.7 ? { loss: random() } : {},
        verifiedAt: random() < 0.15 ? below(1_000) : null,
        isPinned: random() < 0.1,
        tags: random() < 0.1 ? ["best"] : [],
        isRestoring: random() < 0.05,
        wasBroughtBack: random() < 0.05,
      });
    });
    const parents = Array.from({ length: below(4) }, () => ({ epoch: 1 + below(3), step: below(30) * 50 }));
    const policy: KeepPolicy = {
      ...NO_RULES,
      last: maybe(() => 1 + below(5)),
      everySteps: maybe(() => 1 + below(500)),
      everyMs: maybe(() => (1 + below(48)) * HOUR_MS),
      best: maybe(() => ({ metric: "loss", want: random() < 0.5 ? "min" : "max", count: 1 + below(3) })),
      mostBytes: maybe(() => 1 + below(10_000)),
    };
    const rows = decideKeeping(policy, { checkpoints, parents });
    const goes = new Set(rows.filter(({ fate }) => fate === "goes").map(({ id }) => id));
    went += goes.size;
    const complete = checkpoints.filter(({ state }) => state === "complete").toSorted(byNewest);
    // Written a second time, without the code that is tested.
    const isParent = ({ writerEpoch, step }: KeepCandidate): boolean =>
      parents.some((parent) => parent.epoch === writerEpoch && parent.step === step);
    const lastVerifiedAt = Math.max(...complete.map(({ verifiedAt }) => verifiedAt ?? -1));
    for (const checkpoint of checkpoints) {
      const isProtected =
        checkpoint.state !== "complete" ||
        checkpoint.isPinned ||
        checkpoint.tags.length > 0 ||
        checkpoint.isRestoring ||
        checkpoint.wasBroughtBack ||
        isParent(checkpoint) ||
        checkpoint === complete[0] ||
        (checkpoint.verifiedAt !== null && checkpoint.verifiedAt === lastVerifiedAt) ||
        checkpoint === complete.find(({ verifiedAt }) => verifiedAt !== null);
      if (isProtected) expect(goes.has(checkpoint.id), `seed ${seed}, ${checkpoint.id}`).toBe(false);
    }
    if (complete.length > 0) expect(goes.size, `seed ${seed}`).toBeLessThan(complete.length);
    for (const row of rows) expect(row.because.length, `seed ${seed}`).toBeGreaterThan(0);
    if (policy.mostBytes === null) continue;
    // Over the limit only with nothing left that may go.
    const stays = rows.filter(({ id, fate }) => fate === "stays" && complete.some((known) => known.id === id));
    const bytes = stays.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    if (bytes <= policy.mostBytes) continue;
    capped++;
    const guarded = protectedBy({ checkpoints, parents });
    for (const { id } of stays) {
      const known = complete.find((row) => row.id === id);
      expect(guarded.has(id) || known?.wasBroughtBack, `seed ${seed}, ${id}`).toBe(true);
    }
  }
  expect(went).toBeGreaterThan(1_000);
  expect(capped).toBeGreaterThan(100);
});

test("each of several watched folders of a run is kept by the rules for itself", () => {
  const inRoot = (root: number, all: KeepCandidate[]) => all.map((row) => ({ ...row, id: `${root}-${row.id}`, root }));
  const known = history([...inRoot(0, steps(3)), ...inRoot(1, steps(2))]);
  const kept = decideKeeping({ ...NO_RULES, last: 2 }, known).filter(({ fate }) => fate === "stays");
  expect(kept.map(({ id }) => id).toSorted()).toEqual([
    "0-checkpoint-1-200",
    "0-checkpoint-1-300",
    "1-checkpoint-1-100",
    "1-checkpoint-1-200",
  ]);
  expect(protectedBy(known).get("1-checkpoint-1-200")).toEqual([{ kind: "newest-in-folder" }]);
});

test("a line that its program passed over protects itself and what it came from, and nothing of another tool or a later line", () => {
  const known = history([
    one(50, { writerEpoch: 3 }),
    one(200, { writerEpoch: 2 }),
    ...steps(2),
    one(10, { writerEpoch: 0 }),
  ]);
  const because = protectedBy({ ...known, passedOver: [{ epoch: 2, step: 200 }] });
  const passedOver = { kind: "passed-over", step: 200 };
  expect(
    known.checkpoints.filter(({ id }) => because.get(id)?.some(({ kind }) => kind === "passed-over")),
  ).toHaveLength(3);
  expect(because.get("checkpoint-1-100")).toEqual([passedOver]);
  expect(reasonWords({ kind: "passed-over", step: 200 })).toContain("did not continue from (step 200)");
});
