import { stepWords } from "#protocol/checkpoint/step-words.ts";
import type { LocalStatus } from "#protocol/local-api/local.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import { formatBytes, formatCount, formatEta, formatRate } from "#protocol/base/units.ts";
import { sentenceOf } from "#protocol/faults/fault.ts";
import { systemClock } from "../base/clock.ts";
import { shownName } from "../command-line/command-context.ts";
import type { Terminal } from "../command-line/terminal.ts";
import { sentencesOf } from "./status-sentences.ts";

const EVERY_MS = 1_000;
const WIDTH = 32;
const MOST_TRANSFERS = 8;
/** Least number of columns at which a bar and its text fit into one line. */
const WIDE = 120;
/** Lines are cut below this number of columns. */
const NARROWEST = 20;
const INDENT = "  ";

/**
 * Draws the status of the worker every second until `signal` fires; with `--json` prints one object a second.
 * Faults: those of `read`, such as NO_WORKER when the worker ends.
 */
export async function watchStatus(
  terminal: Terminal,
  { read, signal }: { read: () => Promise<LocalStatus>; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const status = await read();
    terminal.draw(
      (columns) => pageOf(status, columns),
      () => ({ type: "status", running: true, ...status }),
    );
    await systemClock.sleep(EVERY_MS, signal).catch(() => undefined);
  }
}

/**
 * Returns the lines of the live view: the sentences of `status`, and a line with a bar for each transfer. `columns`:
 * width of the terminal, 0 when unknown. Breaks lines between words on a narrow terminal, because each line ends with
 * its most important fact.
 */
export function pageOf(status: LocalStatus, columns = 0): string[] {
  const moving = status.transfers.filter(({ state }) => state === "running" || state === "waiting");
  const more = moving.length - MOST_TRANSFERS;
  return [
    ...sentencesOf(status),
    ...moving.slice(0, MOST_TRANSFERS).flatMap((one) => linesOf(one, columns)),
    ...(more > 0 ? [`and ${formatCount(more)} more transfers`] : []),
    "Ctrl-C ends this page; the worker goes on.",
  ].flatMap((line) => broken(line, columns));
}

const WORDS: Readonly<Record<TransferProgress["direction"], string>> = {
  upload: "upload",
  download: "restore",
  verify: "verify",
  drill: "rehearse",
  copy: "copy",
};

/** Breaks a line between words and indents the rest. Uses one column less than the terminal has. */
function broken(line: string, columns: number): string[] {
  const width = columns - 1;
  if (columns < NARROWEST || line.length <= width) return [line];
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const end = space > INDENT.length ? space : width;
    lines.push(rest.slice(0, end));
    rest = `${INDENT}${rest.slice(end).trimStart()}`;
  }
  return [...lines, rest];
}

function linesOf(transfer: TransferProgress, columns: number): string[] {
  const { direction, run, step, state, bytesDone, bytesTotal, ...rest } = transfer;
  const share = bytesTotal === 0 ? 1 : Math.min(1, bytesDone / bytesTotal);
  const isNarrow = columns >= NARROWEST && columns < WIDE;
  const width = isNarrow ? Math.min(WIDTH, columns - 9) : WIDTH;
  const done = Math.floor(share * width);
  const bar = `${"█".repeat(done)}${"░".repeat(width - done)}`;
  const parts = [
    `${WORDS[direction]} ${shownName(run)} ${stepWords(step)}`,
    `${formatBytes(bytesDone)} of ${formatBytes(bytesTotal)}`,
  ];
  if (rest.fault !== null) parts.push(sentenceOf(rest.fault));
  else if (state === "waiting") parts.push("waits");
  else {
    const { bytesPerSecond } = rest;
    const eta = bytesPerSecond > 0 ? formatEta(((bytesTotal - bytesDone) / bytesPerSecond) * 1000) : null;
    parts.push(formatRate(bytesPerSecond, "bytes"), ...(eta === null ? [] : [eta]));
  }
  const gauge = `${bar} ${String(Math.floor(share * 100)).padStart(3)} %`;
  return isNarrow ? [gauge, `${INDENT}${parts.join(", ")}`] : [`${gauge}  ${parts.join(", ")}`];
}
