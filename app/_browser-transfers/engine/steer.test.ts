import { describe, expect, it } from "vitest";
import { FIRST_HELM, steer, type ConcurrencyState } from "./steer.ts";

/** Windows over a link that gives `perRequest` bytes per second to each of at most `most` requests. */
function sail(windows: number, link: { perRequest: number; most: number }): number[] {
  const widths: number[] = [];
  let concurrency: ConcurrencyState = FIRST_HELM;
  for (let window = 0; window < windows; window++) {
    const bytesPerSecond = Math.min(concurrency.width, link.most) * link.perRequest;
    concurrency = steer(concurrency, { bytesPerSecond, isFull: true, troubles: 0 });
    widths.push(concurrency.width);
  }
  return widths;
}

describe("the number of requests under way", () => {
  it("grows while that brings more, and stays where it stops to", () => {
    const widths = sail(40, { perRequest: 1e6, most: 14 });
    expect(Math.max(...widths)).toBe(16);
    expect(widths.filter((width) => width === 14).length).toBeGreaterThan(25);
  });

  it("stays near what a browser opens where more of them only wait", () => {
    const widths = sail(40, { perRequest: 1e6, most: 6 });
    expect(widths.filter((width) => width === 6).length).toBeGreaterThan(30);
  });

  it("halves at trouble, keeps one, and comes back", () => {
    let concurrency = FIRST_HELM;
    for (let times = 0; times < 5; times++)
      concurrency = steer(concurrency, { bytesPerSecond: 1e6, isFull: true, troubles: 1 });
    expect(concurrency.width).toBe(1);
    for (let times = 0; times < 30; times++) {
      concurrency = steer(concurrency, { bytesPerSecond: concurrency.width * 1e6, isFull: true, troubles: 0 });
    }
    expect(concurrency.width).toBeGreaterThan(6);
  });

  it("does not grow while nothing waits", () => {
    let concurrency = FIRST_HELM;
    for (let times = 0; times < 10; times++)
      concurrency = steer(concurrency, { bytesPerSecond: 1e9, isFull: false, troubles: 0 });
    expect(concurrency.width).toBe(6);
  });
});
