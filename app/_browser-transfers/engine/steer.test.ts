import { describe, expect, it } from "vitest";
import { FIRST_HELM, steer, type Helm } from "./steer.ts";

/** Windows over a link that gives `perRequest` bytes per second to each of at most `most` requests. */
function sail(windows: number, link: { perRequest: number; most: number }): number[] {
  const widths: number[] = [];
  let helm: Helm = FIRST_HELM;
  for (let window = 0; window < windows; window++) {
    const bytesPerSecond = Math.min(helm.width, link.most) * link.perRequest;
    helm = steer(helm, { bytesPerSecond, isFull: true, troubles: 0 });
    widths.push(helm.width);
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
    let helm = FIRST_HELM;
    for (let times = 0; times < 5; times++) helm = steer(helm, { bytesPerSecond: 1e6, isFull: true, troubles: 1 });
    expect(helm.width).toBe(1);
    for (let times = 0; times < 30; times++) {
      helm = steer(helm, { bytesPerSecond: helm.width * 1e6, isFull: true, troubles: 0 });
    }
    expect(helm.width).toBeGreaterThan(6);
  });

  it("does not grow while nothing waits", () => {
    let helm = FIRST_HELM;
    for (let times = 0; times < 10; times++) helm = steer(helm, { bytesPerSecond: 1e9, isFull: false, troubles: 0 });
    expect(helm.width).toBe(6);
  });
});
