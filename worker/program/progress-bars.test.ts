import { expect, test } from "vitest";
import { createProgressBars } from "./progress-bars.ts";

/** As tqdm redraws it on stderr. */
const bar = (value: number, total: number) =>
  `\r ${Math.round((100 * value) / total)}%|███▌      | ${value}/${total} [00:07<00:12,  7.20it/s]`;

function shown(...texts: string[]) {
  const bars = createProgressBars();
  for (const text of texts) bars.add(Buffer.from(text));
  return bars;
}

const upTo = (from: number, to: number, total: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => bar(from + index, total));

test("the bar that passed a checkpoint's step tells how far training has come since", () => {
  const bars = shown(...upTo(0, 20, 130));
  expect(bars.step()).toBeNull();
  bars.confirm(20);
  for (const text of upTo(21, 39, 130)) bars.add(Buffer.from(text));
  expect(bars.step()).toBe(39);
});

test("a bar that is cut anywhere between two chunks is read", () => {
  const text = upTo(18, 22, 130).join("");
  for (let at = 1; at < text.length; at += 7) {
    const bars = createProgressBars();
    bars.add(Buffer.from(text.slice(0, at)));
    bars.add(Buffer.from(text.slice(at)));
    bars.confirm(20);
    expect(bars.step()).toBe(22);
  }
});

test("the step itself may be skipped where steps are fast", () => {
  const bars = shown(bar(17, 1_000), bar(22, 1_000));
  bars.confirm(20);
  expect(bars.step()).toBe(22);
});

test("bars of data sets and evaluations are not taken for training", () => {
  const bars = shown(bar(0, 4_096), bar(1_000, 4_096), bar(4_096, 4_096), ...upTo(0, 20, 130));
  // Two evaluations.
  for (let count = 0; count < 2; count++) for (const text of upTo(0, 50, 50)) bars.add(Buffer.from(text));
  bars.confirm(20);
  expect(bars.step()).toBe(20);
  const others = shown(bar(0, 4_096), bar(4_096, 4_096), ...upTo(0, 50, 50), ...upTo(0, 50, 50));
  others.confirm(20);
  expect(others.step()).toBeNull();
});

test("a bar that does not pass the next checkpoint's step counts no more", () => {
  const bars = shown(...upTo(0, 25, 30));
  bars.confirm(20);
  expect(bars.step()).toBe(25);
  bars.confirm(40);
  expect(bars.step()).toBeNull();
});

test("what is no bar is passed over, however much of it there is", () => {
  const bars = shown("loss 1/2 [x] ", "9".repeat(1_000_000), "/", "1".repeat(1_000), " [00:00<00:00");
  bars.confirm(1);
  expect(bars.step()).toBeNull();
});
