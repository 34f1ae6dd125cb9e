import { expect, test } from "vitest";
import { continueWords } from "./continue-words.ts";

const NOTHING = { checkpoints: 0, bytes: 0 };
const ONE = { checkpoints: 1, bytes: 2 * 1024 ** 3 };
const from = (safeStep: number | null, localStep: number | null, unsafe = NOTHING) =>
  continueWords({ run: "llama", safeStep, localStep, unsafe }, "gpu-7");

test("a safe checkpoint is advised only where there is one", () => {
  expect(from(1200, 1200)).toBe("llama can go on from step 1,200 on another node.");
  expect(from(null, null)).toBe("llama has no safe checkpoint: on another node it starts from 0.");
});

test("what only a disk has is said with its step, its bytes, its node and how it becomes safe", () => {
  expect(from(1200, 1400, ONE)).toBe(
    "llama can go on from step 1,200 on another node. Step 1,400 (2.0 GiB not safe) is only on the disk of gpu-7: start its worker again, and it uploads what it captured.",
  );
  expect(from(null, 200, ONE)).toMatch(/^llama has no safe checkpoint: .* starts from 0\. Step 200 .* disk of gpu-7/);
});

test("a step that is safe already is not called one that only a disk has", () => {
  expect(from(1400, 1400, ONE)).toBe("llama can go on from step 1,400 on another node.");
  expect(from(1400, 1600)).toBe("llama can go on from step 1,400 on another node.");
});
