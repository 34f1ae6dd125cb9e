import { expect, test } from "vitest";
import { runName } from "../base/names.ts";
import { isAtWork, placeApart, placeInTraining, trainingWords, watchedAt } from "./restore-places.ts";

const llama = {
  run: runName.parse("llama"),
  folder: "/w/llama",
  mayRestore: true,
  isTraining: true,
  intervalMs: 360_000,
};
const other = {
  run: runName.parse("other"),
  folder: "/w/llama/other",
  mayRestore: true,
  isTraining: false,
  intervalMs: 360_000,
};
const restored = { run: "llama", step: 200, isFinalModel: false };

test("a restore by hand goes to RUN/step-N outside of watched folders, and nowhere where a node has no such place", () => {
  const places = { restoreFolder: "/w/restored/", watched: [llama] };
  expect(placeApart(places, restored)).toBe("/w/restored/llama/step-200");
  expect(placeApart(places, { ...restored, isFinalModel: true })).toBe("/w/restored/llama/final-model");
  expect(placeApart({ ...places, restoreFolder: null }, restored)).toBeNull();
});

test("training looks in the folder that is watched for the run, else below the run's name, and only where restores may go", () => {
  const wanted = { run: "llama", path: "a/checkpoint-200" };
  expect(placeInTraining({ restoreFolder: null, watched: [other, llama] }, wanted)).toBe("/w/llama/a/checkpoint-200");
  expect(placeInTraining({ restoreFolder: null, watched: [other] }, wanted)).toBe(
    "/w/llama/other/llama/checkpoint-200",
  );
  expect(placeInTraining({ restoreFolder: null, watched: [{ ...llama, mayRestore: false }] }, wanted)).toBeNull();
});

test("a checkpoint of a run with several watched folders goes into its own one", () => {
  const buffer = { ...llama, folder: "/w/buffer" };
  const places = { restoreFolder: null, watched: [llama, other, buffer] };
  const at = (index: number, name: string) =>
    placeInTraining(places, { run: "llama", path: "a.pt", root: { index, name } });
  expect(at(0, "buffer")).toBe("/w/buffer/a.pt");
  expect(at(1, "renamed")).toBe("/w/buffer/a.pt");
  expect(placeInTraining(places, { run: "llama", path: "a.pt" })).toBe("/w/llama/a.pt");
});

test("a target in a watched folder, or around one, is told with its run and the name that it replaces", () => {
  const watched = [llama, other];
  expect(watchedAt("/w/llama/checkpoint-200/", watched)).toEqual({
    run: "llama",
    folder: "/w/llama",
    isTraining: true,
    intervalMs: 360_000,
    name: "checkpoint-200",
  });
  // Nothing is written where no program is at work.
  expect(watchedAt("/w/llama/other/x", watched)).toMatchObject({ run: "other", intervalMs: null });
  expect(watchedAt("/w//llama/x", watched)?.run).toBe("llama");
  expect(watchedAt("/w", watched)).not.toBeNull();
  expect(watchedAt("/w/llama-2/x", watched)).toBeNull();
});

test("a node whose program trains, or that watches a run, is not idle", () => {
  const quiet = { run: "llama", trainedAt: null, localAt: null, intervalMs: null };
  const now = 10_000_000;
  expect(trainingWords([], now)).toBeNull();
  expect(trainingWords([quiet], now)).toBe("watches llama");
  expect(trainingWords([quiet, { ...quiet, run: "b", trainedAt: now - 1 }], now)).toBe("training b");
  const [a, b] = ["a", "b"].map((run) => ({ ...quiet, run, localAt: now }));
  expect(
    trainingWords(
      [a, b].flatMap((one) => one ?? []),
      now,
    ),
  ).toBe("training a and 1 more");
  expect(isAtWork({ ...quiet, localAt: now - 600_001 }, now)).toBe(false);
  expect(isAtWork({ ...quiet, localAt: now - 600_001, intervalMs: 300_000 }, now)).toBe(true);
});
