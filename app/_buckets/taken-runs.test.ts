import { expect, test } from "vitest";
import { takenWords } from "./taken-runs.ts";

const found = { runs: 0, epochs: 0, checkpoints: 0, missing: 0, refused: 0, refusedKeys: [] };

test("says what was taken over, what is known already, and that nothing is there", () => {
  const said = (more: Partial<typeof found>) =>
    takenWords({ isRunning: false, found: { ...found, ...more }, writing: [] });
  expect(said({ runs: 2, checkpoints: 12 })).toBe(
    "2 runs in the bucket, 12 checkpoints taken over. No byte was moved.",
  );
  expect(said({ runs: 1 })).toBe("1 run in the bucket, with no checkpoint that was not known.");
  expect(said({})).toBe("There are no runs below this prefix.");
});

test("names what was refused and who still writes without the hub", () => {
  const refusedKeys = [{ key: "a\u202e/b.json", why: "it is no manifest" }];
  const writing = [{ run: "llama", node: "gpu-1" }];
  const said = takenWords({ isRunning: false, found: { ...found, runs: 1, refused: 1, refusedKeys }, writing });
  expect(said).toContain("1 object refused, the first a");
  expect(said).not.toContain("\u202e");
  expect(said).toContain("Still written without the hub by gpu-1 (llama): start it with --hub.");
  expect(takenWords({ isRunning: true, found: null, writing: [] })).toContain("is being read");
});
