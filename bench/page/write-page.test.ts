import { expect, test } from "vitest";
import { TEST_MACHINE } from "../report/test-machine.ts";
import type { PageResults } from "./result.ts";
import { pagesPage } from "./write-page.ts";

const machine = { ...TEST_MACHINE };
const results: { [K in keyof PageResults]: NonNullable<PageResults[K]> } = {
  streaming: {
    ...machine,
    nodes: 3000,
    everySeconds: 5,
    minutes: 10,
    pages: [
      {
        path: "/nodes",
        frame: { frames: 4000, p50: 1, p95: 8.4, longest: 30, longestTask: 20 },
        heapMb: { start: 10, end: 10.5 },
        domNodes: { start: 900, end: 910 },
        longTasks: { over100: 0, longestMs: 80 },
        rowsMoved: 0,
        shifted: 0,
      },
    ],
  },
  openings: {
    ...machine,
    nodes: 200,
    pages: [
      { path: "/", largestPaintMs: [400, 700, 1200], shifted: [0, 0.01, 0], scriptBytes: 150_000, longestTaskMs: 0 },
      { path: "/runs", largestPaintMs: [300, 300, 300], shifted: [0, 0.2, 0], scriptBytes: 160_000, longestTaskMs: 70 },
    ],
    actions: [{ what: "open the palette", ms: [40, 64, 160] }],
  },
  lists: {
    ...machine,
    keys: 1_000_000,
    opened: [{ what: "a folder", ms: [400, 500, 900] }],
    scrolled: {
      rows: 20_000,
      seconds: 60,
      frame: { frames: 3000, p50: 2, p95: 7.9, longest: 30, longestTask: 20 },
      heapMb: { start: 10, end: 12 },
      domNodes: { start: 900, end: 910 },
      over100: 0,
      longestTaskMs: 60,
    },
    hubMb: { before: 500, between: 550, after: 560, most: 580 },
    readSeconds: [60, 61],
  },
  transfers: {
    ...machine,
    browser: "156",
    bytes: 5 * 1024 ** 3,
    link: { rttMs: 120, upMbit: 150, downMbit: 300 },
    moved: [
      { what: "up", seconds: 300, ofLink: 0.9, tabBytes: 200e6, browserBytes: 500e6, notes: "equal" },
      { what: "down", seconds: 200, ofLink: 0.7, tabBytes: 210e6, browserBytes: 500e6, notes: "equal" },
    ],
    small: { files: 5000, seconds: 60, longestTaskMs: 120, above100: 1, rows: 40 },
    refused: 0,
  },
};

test("each figure is held to what was wanted of it, by the worst page and the middle round", () => {
  const page = pagesPage(results);
  expect(page).toContain("* **not met**: P95 of a frame's work <= 8 ms (8.4)");
  expect(page).toContain("* met: memory flat");
  expect(page).toContain("* met: largest paint < 1 s on each page (700 ms)");
  expect(page).toContain("* **not met**: no layout shift: less than 0.05 on each page (0.200)");
  expect(page).toContain("* met: each action shows within 100 ms (64)");
  expect(page).toContain("* met: P95 of a frame's work while scrolling <= 8 ms (7.9;");
  expect(page).toContain("* **not met**: >= 0.85 of the link each way (0.700)");
  expect(page).toContain("* met: memory of the tab < 300 MB (210)");
  expect(page).toContain("* **not met**: 5,000 small files dropped on the page");
  expect(page).not.toContain("could not keep up");
});

test("what was not measured is not on the page, and what cannot be trusted is named", () => {
  const page = pagesPage({
    openings: null,
    streaming: null,
    lists: null,
    transfers: { ...results.transfers, refused: 3 },
  });
  expect(page).not.toContain("Opening a page");
  expect(page).not.toContain("nodes stream");
  expect(page).not.toContain("keys");
  expect(page).toContain("**The emulator could not keep up**");
});
