import { sentenceOf, type Fault } from "#protocol/faults/fault.ts";
import { formatBytes, formatCount, formatDuration, formatRate } from "#protocol/base/units.ts";
import { sayLeftOut, withoutLeftOut, type LeftOut } from "./listing/left-out.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { tideLine, transferFacts, transferSentence } from "../transfer/progress/sentence.ts";
import { LITTLE_BYTES, keepWithin } from "../host/keep-within.ts";
import type { Failure } from "./listing/entries.ts";
import { isAppendOnly } from "./upload.ts";
import { EXIT, shownName, type CommandContext } from "../command-line/command-context.ts";

const TICK_MS = 100;
/** Interval without a live terminal, where only milestones or one line per second are written. */
const UNSEEN_TICK_MS = 250;
/** Number of failures shown as text; `--json` has them all. */
const MOST_SHOWN = 50;

export interface Followed {
  engine: Engine;
  from: string;
  to: string;
  /** Files that could not be moved. */
  failures: readonly Failure[];
  /** Directory entries and objects that are not files, and were skipped. */
  leftOut: readonly LeftOut[];
  /** `within`: the store copies, so no bytes cross the link. */
  way: "across" | "within";
}

/** Shows a transfer while it runs, and reports its end. Returns the exit code. @throws Faults of `work` */
export async function follow(
  context: CommandContext,
  about: Followed,
  work: (onStart: (counters: ProgressCounters) => void) => Promise<ProgressCounters>,
): Promise<number> {
  const { terminal } = context;
  const { engine, from, to } = about;
  const startedAt = performance.now();
  const running: { counters: ProgressCounters | null } = { counters: null };
  let stopTelling = () => {};
  let stopWatch = () => {};
  const moving = (counters: ProgressCounters) => ({
    from,
    to,
    counters,
    bytesPerSecond: engine.meter.bytesPerSecond(),
  });
  try {
    const counters = await work((started) => {
      running.counters = started;
      stopWatch = watchMemory(engine, started);
      stopTelling = tell(context, { engine, counters: started, moving: () => moving(started) });
    });
    stopTelling();
    const failed = sayFailures(context, about.failures);
    sayDone(context, { ...about, counters, tookMs: performance.now() - startedAt });
    return failed;
  } catch (error) {
    terminal.close();
    sayFailures(context, about.failures);
    if (context.signal.aborted && running.counters !== null) sayStopped(context, moving(running.counters));
    throw error;
  } finally {
    stopTelling();
    stopWatch();
    terminal.close();
  }
}

/** With fewer files, memory stays well below the usual limit. */
const MANY = 4_096;

function watchMemory({ memoryBytes }: Engine, { filesTotal }: ProgressCounters): () => void {
  return filesTotal > MANY && memoryBytes >= LITTLE_BYTES ? keepWithin(memoryBytes) : () => {};
}

type Moving = Parameters<typeof transferSentence>[0];

function tell(
  { terminal }: CommandContext,
  about: { engine: Engine; counters: ProgressCounters; moving: () => Moving },
): () => void {
  const { engine, counters, moving } = about;
  const { from, to } = moving();
  const files = counters.filesTotal === 1 ? "" : `${formatCount(counters.filesTotal)} files, `;
  const began = `${shownName(from)} -> ${shownName(to)}: ${files}${formatBytes(counters.bytesTotal)}`;
  if (!terminal.isLive) terminal.say(began, { type: "started", ...transferFacts(moving()) });
  let quarters = 0;
  return engine.coalescer.every(terminal.isLive ? TICK_MS : UNSEEN_TICK_MS, () => {
    terminal.draw(
      () => [transferSentence(moving()), tideLine(counters)],
      () => ({ type: "progress", ...transferFacts(moving()) }),
    );
    const now = Math.floor((4 * counters.bytesSure) / Math.max(1, counters.bytesTotal));
    if (now > quarters && now < 4 && !terminal.isLive) {
      terminal.say(transferSentence(moving()), { type: "milestone", ...transferFacts(moving()) });
    }
    quarters = now;
  });
}

function sayDone({ terminal }: CommandContext, done: Followed & { counters: ProgressCounters; tookMs: number }): void {
  const { from, to, counters, tookMs, way, failures, leftOut } = done;
  const rate = counters.sentBytes / Math.max(0.001, tookMs / 1000);
  const failed = failures.length;
  const took = formatDuration(tookMs);
  const count = counters.filesTotal === 1 ? "" : `${formatCount(counters.filesTotal)} files, `;
  const again = counters.retries === 0 ? "" : `, ${formatCount(counters.retries)} parts tried again`;
  const keptBytes = way === "within" || failed > 0 ? 0 : counters.bytesTotal - counters.sentBytes;
  const kept = keptBytes > 0 ? `, ${formatBytes(keptBytes)} were there already` : "";
  const speed = way === "within" ? ", copied inside the store" : `, ${formatRate(rate, "bytes")}`;
  const ending = failed === 0 ? `, ${sayChecked(counters)}` : `, ${formatCount(failed)} failed`;
  const places = `${shownName(from)} -> ${shownName(to)}`;
  terminal.result(
    `${places}: ${count}${formatBytes(counters.bytesTotal)} in ${took}${speed}${again}${kept}${ending}${withoutLeftOut(leftOut)}`,
    {
      type: "done",
      from,
      to,
      bytes: counters.bytesTotal,
      sentBytes: counters.sentBytes,
      files: counters.filesTotal,
      filesFailed: failed,
      filesUnverified: counters.filesUnverified,
      tookMs: Math.round(tookMs),
      retries: counters.retries,
      leftOut,
    },
  );
}

/** Returns how files were checked. "Verified" means that a checksum of the bytes was compared. */
function sayChecked({ filesDone, filesUnverified: count }: ProgressCounters): string {
  if (count === 0) return "verified";
  return count === filesDone
    ? "size and ETag checked"
    : `verified, ${formatCount(count)} of them by size and ETag only`;
}

function sayStopped({ terminal }: CommandContext, moving: Moving): void {
  const { counters } = moving;
  terminal.say(
    `Stopped with ${formatBytes(counters.bytesSure)} of ${formatBytes(counters.bytesTotal)} in place. The same command goes on from there.`,
    { type: "stopped", ...transferFacts(moving), bytesSure: counters.bytesSure },
  );
}

/** Lists failures and returns the matching exit code: 8 when there are any, also where nothing else was done. */
export function sayFailures({ terminal, config }: CommandContext, failures: readonly Failure[]): number {
  const shown = config.isOn("json") ? failures : failures.slice(0, MOST_SHOWN);
  for (const { name, fault } of shown) {
    terminal.say(`failed  ${shownName(name)}: ${sentenceOf(fault.toData())}`, {
      type: "failed",
      name,
      fault: fault.toData(),
    });
  }
  const rest = failures.length - shown.length;
  if (rest > 0) terminal.say(`failed  ${formatCount(rest)} more (--json lists them all)`, { type: "more" });
  return failures.length === 0 ? EXIT.ok : EXIT.partly;
}

/** Reports what was left out, for commands whose final sentence does not. */
export function tellLeftOut({ terminal }: CommandContext, leftOut: readonly LeftOut[]): void {
  if (leftOut.length > 0) terminal.say(`Left out: ${sayLeftOut(leftOut)}.`, { type: "left-out", leftOut });
}

/** Faults that every other file would meet too, so that they end the job. */
const OF_ALL: ReadonlySet<Fault["code"]> = new Set([
  "BAD_CREDENTIALS",
  "CANCELLED",
  "CLOCK_SKEW",
  "CREDENTIALS_EXPIRED",
  "INTERCEPTED",
  "INTERNAL",
  "LINK_DOWN",
  "NAME_NOT_RESOLVED",
  "NO_SPACE",
  "NO_SUCH_BUCKET",
  "PROXY_FAILED",
  "PROXY_LOGIN",
  "PROXY_REFUSED",
  "STALLED",
  "STORE_UNAVAILABLE",
  "THROTTLED",
  "TLS_FAILED",
  "WRONG_REGION",
]);

/**
 * Returns whether a log was cut or replaced while it was sent, as rotation does. Its former content is gone, and the next copy
 * takes the new one, so `--delete` still removes what SRC lacks.
 */
export const isRotatedLog = ({ name, fault }: Failure): boolean =>
  fault.code === "SOURCE_CHANGED" && isAppendOnly(name);

/**
 * Collects failures of single files. A failure of the one file that was named itself, or one that all files would meet, ends
 * the job with a fault.
 */
export const collectFailures =
  <F>(failures: Failure[], about: { isOne: boolean; nameOf: (file: F) => string }) =>
  (file: F, fault: Fault): "go on" | "stop" => {
    const failure = { name: about.nameOf(file), fault };
    if ((about.isOne && !isRotatedLog(failure)) || OF_ALL.has(fault.code)) return "stop";
    failures.push(failure);
    return "go on";
  };
