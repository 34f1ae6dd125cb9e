import * as z from "zod";
import type { frameWork } from "./result.ts";

/**
 * What a page's main thread did, from a trace of Chromium: scripting, styles and layout by frame. Counted in the
 * thread's own time where the trace has it, so that what else the machine does is not counted; else by the clock.
 */

/** Scripts, what runs them, what they leave behind, and the styles and layout that follow. */
const COUNTED: ReadonlySet<string> = new Set([
  "EvaluateScript",
  "EventDispatch",
  "FireAnimationFrame",
  "FunctionCall",
  "Layout",
  "LocalFrameView::RunStyleAndLayoutLifecyclePhases",
  "MajorGC",
  "MessagePort::Accept",
  "MinorGC",
  "ResponseBodyLoader::OnStateChange",
  "RunMicrotasks",
  "TimerFire",
  "UpdateLayoutTree",
  "v8.callFunction",
]);
/** The page's own part of drawing a frame: what was done since the one before ends with it. */
const FRAME = "WebFrameWidgetImpl::BeginMainFrame";

const traceEvent = z.object({
  name: z.string(),
  ph: z.string(),
  pid: z.number(),
  tid: z.number(),
  /** Microseconds. */
  ts: z.number().optional(),
  dur: z.number().optional(),
  /** Of the thread's own time. */
  tdur: z.number().optional(),
  args: z.record(z.string(), z.unknown()).optional(),
});
const traceFile = z.object({ traceEvents: z.array(traceEvent) });
type TraceEvent = z.infer<typeof traceEvent>;

export type FrameWork = z.infer<typeof frameWork>;

const percentileOf = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** The main thread that did most of the counted work: that of the page that was looked at. */
function busiestThread(events: readonly TraceEvent[]): string {
  const work = new Map<string, number>();
  for (const event of events) {
    if (event.ph !== "X" || !COUNTED.has(event.name)) continue;
    const thread = `${event.pid} ${event.tid}`;
    work.set(thread, (work.get(thread) ?? 0) + (event.dur ?? 0));
  }
  return [...work].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}

/** Counted events that stand in no other one: what is inside of them is theirs. */
function outermost(events: readonly TraceEvent[]): TraceEvent[] {
  const kept: TraceEvent[] = [];
  let end = -Infinity;
  for (const event of events) {
    const at = event.ts ?? 0;
    if (event.ph !== "X" || !COUNTED.has(event.name) || at < end) continue;
    end = at + (event.dur ?? 0);
    kept.push(event);
  }
  return kept;
}

/**
 * Work by frame: all since the frame before ended belongs to a frame. Frames in which nothing was to do are not counted.
 * @throws ZodError when it is not a trace
 */
export function readTrace(text: string): FrameWork {
  const { traceEvents } = traceFile.parse(JSON.parse(text));
  const thread = busiestThread(traceEvents);
  const own = traceEvents
    .filter((event) => `${event.pid} ${event.tid}` === thread && event.ts !== undefined)
    .toSorted((a, b) => (a.ts ?? 0) - (b.ts ?? 0) || (b.dur ?? 0) - (a.dur ?? 0));
  const tasks = outermost(own).map((event) => ({ at: event.ts ?? 0, ms: (event.tdur ?? event.dur ?? 0) / 1000 }));
  const ends = own.filter(({ name, ph }) => name === FRAME && ph === "X").map(({ ts = 0, dur = 0 }) => ts + dur);
  const perFrame: number[] = [];
  let next = 0;
  for (const end of ends) {
    let sum = 0;
    for (let task = tasks[next]; task !== undefined && task.at < end; task = tasks[next]) {
      sum += task.ms;
      next++;
    }
    if (sum > 0) perFrame.push(sum);
  }
  const sorted = perFrame.toSorted((a, b) => a - b);
  return {
    frames: sorted.length,
    p50: percentileOf(sorted, 0.5),
    p95: percentileOf(sorted, 0.95),
    longest: sorted.at(-1) ?? 0,
    longestTask: tasks.reduce((most, { ms }) => Math.max(most, ms), 0),
  };
}
