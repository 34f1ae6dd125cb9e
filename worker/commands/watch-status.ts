import type { LocalStatus } from "#protocol/local-api/local.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import { formatBytes, formatCount, formatEta, formatRate } from "#protocol/base/units.ts";
import { sentenceOf } from "#protocol/faults/fault.ts";
import { systemClock } from "../base/clock.ts";
import { shownName } from "../command-line/verb.ts";
import type { Terminal } from "../command-line/terminal.ts";
import { sentencesOf } from "./status-sentences.ts";

const EVERY_MS = 1_000;
const WIDTH = 32;
const MOST_TRANSFERS = 8;

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
      () => pageOf(status),
      () => ({ type: "status", running: true, ...status }),
    );
    await systemClock.sleep(EVERY_MS, signal).catch(() => undefined);
  }
}

/** Returns the lines of the live page: the sentences of `status`, and a line with a bar for each transfer. */
export function pageOf(status: LocalStatus): string[] {
  const moving = status.transfers.filter(({ state }) => state === "running" || state === "waiting");
  const more = moving.length - MOST_TRANSFERS;
  return [
    ...sentencesOf(status),
    ...moving.slice(0, MOST_TRANSFERS).flatMap(linesOf),
    ...(more > 0 ? [`and ${formatCount(more)} more transfers`] : []),
    "Ctrl-C ends this page; the worker goes on.",
  ];
}

const WORDS: Readonly<Record<TransferProgress["direction"], string>> = {
  upload: "upload",
  download: "restore",
  verify: "verify",
  drill: "rehearse",
  copy: "copy",
};

function linesOf({ direction, run, step, state, bytesDone, bytesTotal, ...rest }: TransferProgress): string[] {
  const share = bytesTotal === 0 ? 1 : Math.min(1, bytesDone / bytesTotal);
  const done = Math.floor(share * WIDTH);
  const bar = `${"█".repeat(done)}${"░".repeat(WIDTH - done)}`;
  const parts = [
    `${WORDS[direction]} ${shownName(run)} step ${formatCount(step)}`,
    `${formatBytes(bytesDone)} of ${formatBytes(bytesTotal)}`,
  ];
  if (rest.fault !== null) parts.push(sentenceOf(rest.fault));
  else if (state === "waiting") parts.push("waits");
  else {
    const { bytesPerSecond } = rest;
    const eta = bytesPerSecond > 0 ? formatEta(((bytesTotal - bytesDone) / bytesPerSecond) * 1000) : null;
    parts.push(formatRate(bytesPerSecond, "bytes"), ...(eta === null ? [] : [eta]));
  }
  return [`${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${parts.join(", ")}`];
}
