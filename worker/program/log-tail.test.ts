import { expect, test } from "vitest";
import { createLogTail, MOST_TAIL } from "./log-tail.ts";

const tailOf = (...chunks: (string | Buffer)[]) => {
  const tail = createLogTail();
  for (const chunk of chunks) tail.add(Buffer.from(chunk));
  return tail.text();
};

test("keeps the last lines, whole ones only", () => {
  const lines = Array.from({ length: 2_000 }, (_, at) => `step ${at}`);
  const text = tailOf(...lines.map((line) => `${line}\n`));
  expect(text.length).toBeLessThanOrEqual(MOST_TAIL);
  expect(text.length).toBeGreaterThan(MOST_TAIL - 20);
  expect(text.endsWith("step 1999\n")).toBe(true);
  expect(lines).toContain(text.split("\n")[0]);
});

test("a letter that came in two pieces is one letter", () => {
  const bytes = Buffer.from("größer");
  expect(tailOf(bytes.subarray(0, 3), bytes.subarray(3))).toBe("größer");
});

test("of a progress bar that redraws itself only the last state is told, without its colours", () => {
  expect(tailOf("  1%|#\r 50%|#####\r100%|##########\r\n\u001b[31mdone\u001b[0m\u0007\n")).toBe(
    "100%|##########\ndone\n",
  );
});

test("writing cannot be turned around, and nothing said is nothing", () => {
  expect(tailOf("a\u202eb\u0000c")).toBe("abc");
  expect(tailOf()).toBe("");
});
