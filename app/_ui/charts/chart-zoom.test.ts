import { expect, test } from "vitest";
import { draggedPart, zoomIn, zoomOut } from "./chart-zoom.ts";

test("zooming in halves what is shown about the crosshair and stays within it", () => {
  expect(zoomIn({ from: 0, to: 100 }, 50)).toEqual({ from: 25, to: 75 });
  expect(zoomIn({ from: 0, to: 100 }, 2)).toEqual({ from: 0, to: 50 });
  expect(zoomIn({ from: 0, to: 100 }, 99)).toEqual({ from: 50, to: 100 });
});

test("zooming out doubles it until all is shown", () => {
  const whole = { from: 0, to: 100 };
  expect(zoomOut({ from: 40, to: 60 }, whole)).toEqual({ from: 30, to: 70 });
  expect(zoomOut({ from: 0, to: 20 }, whole)).toEqual({ from: 0, to: 30 });
  expect(zoomOut({ from: 20, to: 90 }, whole)).toBeNull();
});

test("a drag chooses in either direction, and a press that trembles chooses nothing", () => {
  expect(draggedPart(80, 20, 1)).toEqual({ from: 20, to: 80 });
  expect(draggedPart(80, 85, 1)).toBeNull();
  expect(draggedPart(80, 85, 0.5)).toEqual({ from: 80, to: 85 });
});
