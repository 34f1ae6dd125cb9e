import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { medianOf } from "#protocol/base/robust.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { measuredWith } from "../report/measured-with.ts";
import {
  readPageResults,
  type Lists,
  type Openings,
  type PageResults,
  type Streaming,
  type Transfers,
} from "./result.ts";

/** Writes the page about the cost of the pages in a browser. */

const FRAME_MS = 8;
const LARGEST_PAINT_MS = 1_000;
const SHIFT = 0.05;
const TASK_MS = 100;
const ACTION_MS = 100;
const LINK_SHARE = 0.85;
const TAB_BYTES = 300e6;
/** Most growth of the heap that counts as flat, because garbage collections vary. */
const FLAT = 1.15;

const verdict = (isMet: boolean, what: string): string => `* ${isMet ? "met" : "**not met**"}: ${what}`;
const most = (values: readonly number[]): number => Math.max(0, ...values);

function streamingPart(result: Streaming): string[] {
  const { nodes, everySeconds, minutes, pages } = result;
  const all = (of: (page: Streaming["pages"][number]) => number) => most(pages.map(of));
  const growth = all(({ heapMb }) => heapMb.end / heapMb.start);
  return [
    `## While ${formatCount(nodes)} nodes stream`,
    "",
    `Each node reports every ${everySeconds} s in the real protocol; each page is looked at for ${minutes} min, with the pointer resting on`,
    "a row. A frame's work is scripting, styles and layout since the frame before, in the thread's own time, from a trace of the",
    "browser; frames without work are not counted. Heap is that of JavaScript after a collection.",
    "",
    "| Page | frames | P50 | P95 | longest | tasks over 100 ms | heap MB | DOM nodes | rows moved under the pointer | layout shift |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...pages.map(
      ({ path, frame, longTasks, heapMb, domNodes, rowsMoved, shifted }) =>
        `| \`${path}\` | ${formatCount(frame.frames)} | ${frame.p50.toFixed(1)} ms | ${frame.p95.toFixed(1)} ms | ${frame.longest.toFixed(0)} ms | ${longTasks.over100} (longest ${longTasks.longestMs.toFixed(0)} ms) | ${heapMb.start.toFixed(1)} to ${heapMb.end.toFixed(1)} | ${formatCount(domNodes.start)} to ${formatCount(domNodes.end)} | ${rowsMoved} | ${shifted.toFixed(3)} |`,
    ),
    "",
    verdict(
      all(({ frame }) => frame.p95) <= FRAME_MS,
      `P95 of a frame's work <= ${FRAME_MS} ms (${all(({ frame }) => frame.p95).toFixed(1)})`,
    ),
    verdict(growth <= FLAT, `memory flat: heap at the end <= ${FLAT} times that at the start (${growth.toFixed(2)})`),
    verdict(all(({ rowsMoved }) => rowsMoved) === 0, "rows steady under the pointer"),
    verdict(all(({ longTasks }) => longTasks.over100) === 0, `no task over ${TASK_MS} ms`),
    "",
    measuredWith(result, { hasLink: false }),
    "",
  ];
}

function openingsPart(result: Openings): string[] {
  const { nodes, pages, actions } = result;
  const largest = most(pages.map(({ largestPaintMs }) => medianOf(largestPaintMs)));
  const shift = most(pages.flatMap(({ shifted }) => shifted));
  const action = most(actions.map(({ ms }) => medianOf(ms)));
  return [
    "## Opening a page, and doing something on it",
    "",
    `Each page is opened with an empty cache, hub and browser on the same machine, while ${formatCount(nodes)} nodes stream. The largest paint and the shifts`,
    "are those that the browser tells (LCP, CLS); an action counts from the event to the frame that shows what came of it (Event Timing,",
    "steps of 8 ms; what is shorter is 0). Medians; the longest in brackets. Scripts are all that came, with those that a page loads when",
    "it works already; what it loads before is held to 200 kB by a test.",
    "",
    "| Page | largest paint | scripts in all, compressed | layout shift | longest task |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...pages.map(
      ({ path, largestPaintMs, scriptBytes, shifted, longestTaskMs }) =>
        `| \`${path}\` | ${medianOf(largestPaintMs).toFixed(0)} ms (${most(largestPaintMs).toFixed(0)}) | ${formatBytes(scriptBytes)} | ${most(shifted).toFixed(3)} | ${longestTaskMs === 0 ? "under 50 ms" : `${longestTaskMs.toFixed(0)} ms`} |`,
    ),
    "",
    "| Action | until it shows |",
    "| --- | ---: |",
    ...actions.map(({ what, ms }) => `| ${what} | ${medianOf(ms).toFixed(0)} ms (${most(ms).toFixed(0)}) |`),
    "",
    verdict(largest < LARGEST_PAINT_MS, `largest paint < 1 s on each page (${largest.toFixed(0)} ms)`),
    verdict(shift < SHIFT, `no layout shift: less than ${SHIFT} on each page (${shift.toFixed(3)})`),
    verdict(action < ACTION_MS, `each action shows within ${ACTION_MS} ms (${action.toFixed(0)})`),
    "",
    measuredWith(result, { hasLink: false }),
    "",
  ];
}

function listsPart(result: Lists): string[] {
  const { keys, opened, scrolled, hubMb, readSeconds } = result;
  const { frame, heapMb, domNodes } = scrolled;
  return [
    `## A list of ${formatCount(keys)} keys`,
    "",
    `From the request for the page to its first rows; and a folder with ${formatCount(keys)} keys scrolled by the wheel for ${scrolled.seconds.toFixed(0)} s, ${formatCount(scrolled.rows)} rows`,
    "far, measured as above.",
    "",
    "| Opened | first rows after |",
    "| --- | ---: |",
    ...opened.map(({ what, ms }) => `| ${what} | ${medianOf(ms).toFixed(0)} ms (${most(ms).toFixed(0)}) |`),
    "",
    verdict(
      frame.p95 <= FRAME_MS,
      `P95 of a frame's work while scrolling <= ${FRAME_MS} ms (${frame.p95.toFixed(1)}; P50 ${frame.p50.toFixed(1)}, longest ${frame.longest.toFixed(0)}, ${formatCount(frame.frames)} frames)`,
    ),
    verdict(
      scrolled.over100 === 0,
      `no task over ${TASK_MS} ms (${scrolled.over100}, longest ${scrolled.longestTaskMs.toFixed(0)} ms)`,
    ),
    `* heap ${heapMb.start.toFixed(1)} to ${heapMb.end.toFixed(1)} MB, ${formatCount(domNodes.start)} to ${formatCount(domNodes.end)} DOM nodes`,
    `* all keys read twice through the hub, in ${readSeconds.map((one) => one.toFixed(0)).join(" and ")} s: its processes held ${hubMb.before.toFixed(0)} MB before, ${hubMb.between.toFixed(0)} between, ${hubMb.after.toFixed(0)} after, ${hubMb.most.toFixed(0)} at most`,
    "",
    measuredWith(result, { hasLink: false }),
    "",
  ];
}

function transfersPart(result: Transfers): string[] {
  const { bytes, link, moved, small, refused, browser } = result;
  const least = Math.min(...moved.map(({ ofLink }) => ofLink));
  const tab = most(moved.map(({ tabBytes }) => tabBytes));
  return [
    "## Files through the browser",
    "",
    `${formatBytes(bytes)} of random data from and to the browser's own file system, through an emulated link: ${link.rttMs} ms, ${link.upMbit} up / ${link.downMbit} down Mbit/s;`,
    `hub and store are at its far end. Chromium ${browser}. Share is of the link's rate, from the click to the verified end; memory is at most.`,
    "",
    "| | seconds | share of link | tab | whole browser | |",
    "| --- | ---: | ---: | ---: | ---: | --- |",
    ...moved.map(
      ({ what, seconds, ofLink, tabBytes, browserBytes, notes }) =>
        `| ${what} | ${seconds.toFixed(1)} | ${ofLink.toFixed(3)} | ${formatBytes(tabBytes)} | ${formatBytes(browserBytes)} | ${notes} |`,
    ),
    "",
    verdict(least >= LINK_SHARE, `>= ${LINK_SHARE} of the link each way (${least.toFixed(3)})`),
    verdict(tab < TAB_BYTES, `memory of the tab < 300 MB (${(tab / 1e6).toFixed(0)})`),
    ...(small === null
      ? []
      : [
          verdict(
            small.above100 === 0,
            `${formatCount(small.files)} small files dropped on the page, in ${small.seconds.toFixed(0)} s: no task over ${TASK_MS} ms (${small.above100}, longest ${small.longestTaskMs.toFixed(0)} ms; ${small.rows} rows drawn)`,
          ),
        ]),
    ...(refused === 0 ? [] : ["* **The emulator could not keep up**: measure again on a quieter machine."]),
    "",
    measuredWith(result, { hasLink: true }),
    "",
  ];
}

/** Returns the whole page. */
export function pagesPage({ openings, streaming, lists, transfers }: PageResults): string {
  return [
    "# What the pages cost a browser",
    "",
    "Made by `npm run bench -- openings`, `page`, `lists` and `browser` from `bench/results/page/`; do not edit.",
    "",
    ...(openings === null ? [] : openingsPart(openings)),
    ...(streaming === null ? [] : streamingPart(streaming)),
    ...(lists === null ? [] : listsPart(lists)),
    ...(transfers === null ? [] : transfersPart(transfers)),
  ].join("\n");
}

export const writePagesPage = async (): Promise<void> =>
  writeFile(join(import.meta.dirname, "../../docs/pages.md"), pagesPage(await readPageResults()));
