import { describe, expect, it } from "vitest";
import { ROW_HEIGHT, scrollTo, tallView } from "./tall-rows.ts";

const screenHeight = 600;

describe("a tall list", () => {
  it.each([0, 1, 30, 100_000, 1_000_000, 50_000_000])("of %i rows draws no more than a screenful", (count) => {
    for (const share of [0, 0.3, 0.5, 1]) {
      const { height } = tallView({ count, scrollTop: 0, screenHeight });
      expect(height).toBeLessThanOrEqual(8_000_000);
      const scrollTop = share * Math.max(0, height - screenHeight);
      const { first, end } = tallView({ count, scrollTop, screenHeight });
      expect(end - first).toBeLessThanOrEqual(screenHeight / ROW_HEIGHT + 15);
      if (share === 0) expect(first).toBe(0);
      if (share === 1) expect(end).toBe(count);
    }
  });

  it.each([100, 1_000_000, 50_000_000])("of %i rows brings every row to the screen, wherever the bar is", (count) => {
    for (const index of [0, 1, Math.floor(count / 2), count - 2, count - 1]) {
      const before = { count, scrollTop: 0, screenHeight };
      const scrollTop = scrollTo(index, before) ?? 0;
      const { first, end, top } = tallView({ count, scrollTop, screenHeight });
      expect(first).toBeLessThanOrEqual(index);
      expect(end).toBeGreaterThan(index);
      const onScreen = top + (index - first) * ROW_HEIGHT - scrollTop;
      expect(onScreen).toBeGreaterThanOrEqual(-1);
      expect(onScreen).toBeLessThanOrEqual(screenHeight - ROW_HEIGHT + 1);
    }
  });

  it("does not move for a row that is seen already", () => {
    expect(scrollTo(3, { count: 100, scrollTop: 0, screenHeight })).toBeNull();
  });
});
