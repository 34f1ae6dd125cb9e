import { stepWords } from "#protocol/checkpoint/step-words.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import { formatCount, formatDuration, formatEta, formatRate, type RateUnit } from "#protocol/base/units.ts";
import type { Tone } from "../../_ui/indicators/mark.tsx";
import { shortText, visibleText } from "../../_ui/text/visible-text.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

/** Wording of transfers, kept apart from `transfer-line.tsx` so that it can be tested without rendering. */

export type TransferState = TransferRow["state"];

/** Returns whether a transfer has ended. Must match protocol/wire/transfer.ts. */
export const isEnded = (state: TransferState): boolean =>
  state === "done" || state === "failed" || state === "cancelled" || state === "superseded";

export function toneOf(row: Pick<TransferRow, "state" | "stalledMs">): Tone {
  switch (row.state) {
    case "done":
      return "safe";
    case "running":
      return row.stalledMs === null ? "moving" : "risk";
    case "failed":
      return "lost";
    case "waiting":
    case "paused":
      return "risk";
    case "cancelled":
    case "superseded":
      return "quiet";
  }
}

/** Word for each direction. A `restore drill` restores for practice and removes the result. */
const VERBS: Record<TransferRow["direction"], string> = {
  upload: "upload",
  download: "restore",
  verify: "verify",
  drill: "restore drill",
  copy: "copy",
};

/** Returns the destination and the progress in files: the part after the step's name. */
export function placeOf(row: TransferRow): { arrow: "→" | "←"; verb: string; place: string; file: string | null } {
  const file =
    row.state === "running" && row.filesTotal > 1
      ? `file ${formatCount(Math.min(row.filesTotal, row.filesDone + 1))} of ${formatCount(row.filesTotal)}`
      : null;
  return {
    arrow: "→",
    verb: VERBS[row.direction],
    place: shortText(row.place, 72),
    file,
  };
}

/** Returns the right end of the sentence: rate and time left, or why there is none. */
export function paceOf(row: TransferRow, unit: RateUnit): string {
  switch (row.state) {
    case "running":
      if (row.stalledMs !== null) return `stalled ${formatDuration(row.stalledMs)}`;
      if (row.bytesPerSecond === 0 && row.etaMs === null) return "starting";
      return [formatRate(row.bytesPerSecond, unit), formatEta(row.etaMs) ?? "time left not known yet"].join(" · ");
    case "waiting":
      return "waiting";
    case "paused":
      return "paused";
    case "done":
      return row.startedAt === null || row.endedAt === null
        ? "done"
        : `took ${formatDuration(row.endedAt - row.startedAt)}`;
    case "failed":
      return "failed";
    case "cancelled":
      return "cancelled";
    case "superseded":
      return "replaced by a newer step";
  }
}

const STARTED_BY: Record<TransferRow["startedBy"], string> = {
  queue: "automatic",
  operator: "started by an operator",
  start: "started with the node",
};

/** Returns the second line: size, connections, retries, and who started it. */
export function factsOf(row: TransferRow, unit: RateUnit): string {
  const amount =
    row.state === "done"
      ? formatBytes(row.bytesTotal)
      : `${formatBytes(row.bytesDone)} of ${formatBytes(row.bytesTotal)}`;
  const files = row.filesTotal === 1 ? "1 file" : `${formatCount(row.filesTotal)} files`;
  return [
    amount,
    files,
    ...(row.state === "running" ? [`${row.connections} connection${row.connections === 1 ? "" : "s"}`] : []),
    ...(row.state === "done" && row.averageBytesPerSecond > 0
      ? [`${formatRate(row.averageBytesPerSecond, unit)} on average`]
      : []),
    ...(row.retries > 0 ? [`${row.retries} ${row.retries === 1 ? "retry" : "retries"}`] : []),
    row.direction === "drill" ? "started by its schedule" : STARTED_BY[row.startedBy],
  ].join(" · ");
}

/** Returns the whole sentence as plain text, for labels and copying. */
export function transferSentence(row: TransferRow, unit: RateUnit): string {
  const { place, file } = placeOf(row);
  const from = row.direction === "upload" ? `${row.nodeName} → ${place}` : `${row.bucket} → ${row.nodeName}:${place}`;
  return visibleText(
    [
      `${row.run} ${stepWords(row.step)}: ${from}`,
      ...(file === null ? [] : [file]),
      factsOf(row, unit),
      paceOf(row, unit),
    ].join(", "),
  );
}

export type TransferAction = "cancel" | "pause" | "resume" | "retry";

/**
 * Returns the actions that a person can request now. A failed upload can be canceled because its capture takes space on the
 * node; other failed transfers leave nothing behind.
 */
export function actionsFor({ state, direction }: Pick<TransferRow, "state" | "direction">): readonly TransferAction[] {
  switch (state) {
    case "waiting":
    case "running":
      return ["pause", "cancel"];
    case "paused":
      return ["resume", "cancel"];
    case "failed":
      return direction === "upload" ? ["retry", "cancel"] : ["retry"];
    case "done":
    case "cancelled":
    case "superseded":
      return [];
  }
}
