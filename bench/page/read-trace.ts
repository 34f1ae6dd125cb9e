import * as z from "zod";
import type { frameWork } from "./result.ts";

/**
 * Reads from a trace of Chromium what a page's main thread did: scripting, styles and layout by frame. Uses the thread's CPU
 * time where the trace has it, so that other work of the machine does not count; else wall time.
 */

/** Scripts, what starts them, garbage collection, and the styles and layout that follow. */
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
/** The page's part of drawing a frame; its end is the end of the work since the previous frame. */
const FRAME = "WebFrameWidgetImpl::BeginMainFrame";

const traceEvent = z.object({
  name: z.string(),
  ph: z.string(),
  pid: z.number(),
  tid: z.number(),
  /** Microseconds. */
  ts: z.number().optional(),
  dur: z.number().optional(),
  /** CPU time of the thread, microseconds. */
  tdur: z.number().optional(),
  args: z.record(z.string(), z.unknown()).optional(),
});
const traceFile = z.object({ traceEvents: z.array(traceEvent) });
type TraceEvent = z.infer<typeof traceEvent>;

export type FrameWork = z.infer<typeof frameWork>;

const percentileOf = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** Returns the main thread that did most of the counted work: that of the measured page. */
function busiestThread(events: readonly TraceEvent[]): string {
  const work = new Map<string, number>();
  for (const event of events) {
    if (event.ph !== "X" || !COUNTED.has(event.name)) continue;
    const thread = `${event.pid} ${event.tid}`;
    work.set(thread, (work.get(thread) ?? 0) + (event.dur ?? 0));
  }
  return [...work].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}

/** Returns the counted events that are not inside another counted event, whose time includes theirs. */
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
 * Returns the work by frame: everything since the end of the previous frame. Frames without work are not counted.
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
