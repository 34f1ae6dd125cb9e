import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { machineFacts } from "../report/results.ts";

/** Stored results of the pages in a browser; `docs/pages.md` is made from them. */

const FOLDER = join(import.meta.dirname, "../results/page");

export const frameWork = z.object({
  frames: z.number(),
  /** Milliseconds of scripting, styles and layout in a frame. */
  p50: z.number(),
  p95: z.number(),
  longest: z.number(),
  /** Milliseconds of the longest single task. */
  longestTask: z.number(),
});

const startAndEnd = z.object({ start: z.number(), end: z.number() });

/** Cost of a page while a fleet streams. */
const streaming = machineFacts.extend({
  nodes: z.number(),
  everySeconds: z.number(),
  minutes: z.number(),
  pages: z.array(
    z.object({
      path: z.string(),
      frame: frameWork,
      /** JavaScript heap after a garbage collection. */
      heapMb: startAndEnd,
      domNodes: startAndEnd,
      /** Tasks over 100 ms of wall time, and the longest, as measured in the page. */
      longTasks: z.object({ over100: z.number(), longestMs: z.number() }),
      /** How often the row under the resting pointer changed. */
      rowsMoved: z.number(),
      /** The browser's layout-shift score during the measurement. */
      shifted: z.number(),
    }),
  ),
});
export type Streaming = z.infer<typeof streaming>;
export type PageCost = Streaming["pages"][number];

const seen = z.object({
  /** Milliseconds from the navigation to the largest contentful paint, of each round. */
  largestPaintMs: z.array(z.number()),
  /** The browser's layout-shift score, of each round. */
  shifted: z.array(z.number()),
  /** Bytes of JavaScript over the wire. */
  scriptBytes: z.number(),
  longestTaskMs: z.number(),
});

/** Cost of opening a page with nothing of it in memory, and of actions on it. */
const openings = machineFacts.extend({
  nodes: z.number(),
  pages: z.array(seen.extend({ path: z.string() })),
  /** Milliseconds from an event to the frame that shows its result; the longest of each round. */
  actions: z.array(z.object({ what: z.string(), ms: z.array(z.number()) })),
});
export type Openings = z.infer<typeof openings>;
export type Opening = Openings["pages"][number];

const moved = z.object({
  what: z.string(),
  seconds: z.number(),
  /** Share of the link's rate. */
  ofLink: z.number(),
  /** Peak memory as proportional set size (PSS), bytes. */
  tabBytes: z.number(),
  browserBytes: z.number(),
  notes: z.string(),
});
export type Moved = z.infer<typeof moved>;

/** Transfers of a large file, and of many small ones, through the browser. */
const transfers = machineFacts.extend({
  browser: z.string(),
  bytes: z.number(),
  link: z.object({ rttMs: z.number(), upMbit: z.number(), downMbit: z.number() }),
  moved: z.array(moved),
  small: z
    .object({
      files: z.number(),
      seconds: z.number(),
      longestTaskMs: z.number(),
      above100: z.number(),
      rows: z.number(),
    })
    .nullable(),
  /** Packets that the emulator dropped because the machine was too slow. */
  refused: z.number(),
});
export type Transfers = z.infer<typeof transfers>;

/** Lists that are too long to be read to the end. */
const lists = machineFacts.extend({
  keys: z.number(),
  /** Milliseconds from the request for the page, with nothing of it in memory, to its first row, of each round. */
  opened: z.array(z.object({ what: z.string(), ms: z.array(z.number()) })),
  scrolled: z.object({
    rows: z.number(),
    seconds: z.number(),
    frame: frameWork,
    heapMb: startAndEnd,
    domNodes: startAndEnd,
    over100: z.number(),
    longestTaskMs: z.number(),
  }),
  /** Memory of the hub's processes, MB, around two readings of all keys. */
  hubMb: z.object({ before: z.number(), between: z.number(), after: z.number(), most: z.number() }),
  readSeconds: z.array(z.number()),
});
export type Lists = z.infer<typeof lists>;

const KINDS = { streaming, openings, lists, transfers } as const;
export type Kind = keyof typeof KINDS;
export interface PageResults {
  streaming: Streaming | null;
  openings: Openings | null;
  lists: Lists | null;
  transfers: Transfers | null;
}

const fileOf = (kind: Kind): string => join(FOLDER, `${kind}.json`);

export async function savePageResult<K extends Kind>(kind: K, result: NonNullable<PageResults[K]>): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(fileOf(kind), `${JSON.stringify(result, null, 2)}\n`);
}

/** Reads the stored results; null for a kind that was never measured. */
export async function readPageResults(): Promise<PageResults> {
  const read = async (kind: Kind): Promise<unknown> => {
    const text = await readFile(fileOf(kind), "utf8").catch(() => null);
    return text === null ? null : (JSON.parse(text) as unknown);
  };
  return {
    streaming: streaming.nullable().parse(await read("streaming")),
    openings: openings.nullable().parse(await read("openings")),
    lists: lists.nullable().parse(await read("lists")),
    transfers: transfers.nullable().parse(await read("transfers")),
  };
}
