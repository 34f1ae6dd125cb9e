import { doubtfulWords, openPiecesWords } from "#protocol/checkpoint/continue-words.ts";
import type { FolderLine } from "#protocol/checkpoint/folder-lines.ts";
import type { LocalAside, LocalRun, LocalStatus } from "#protocol/local-api/local.ts";
import { branchWords } from "#protocol/history/passed-over.ts";
import { placeWords, stepWords } from "#protocol/checkpoint/step-words.ts";
import { safeSourceOf } from "#protocol/wire/reports.ts";
import { formatBytes, formatCount, formatDuration, formatRate } from "#protocol/base/units.ts";
import { describeHub } from "../hub-link/hub-address.ts";
import { shownName } from "../command-line/command-context.ts";

/** Returns the status of a worker as sentences: first about the worker, then about each of its runs. */
export function sentencesOf(status: LocalStatus): string[] {
  const { node, hub, error } = status;
  const place = status.store === null ? "no store yet" : `${status.store.bucket} (${status.store.profile})`;
  const rates = `${formatRate(status.upBytesPerSecond, "bytes")} up, ${formatRate(status.downBytesPerSecond, "bytes")} down`;
  return [
    `${node} -> ${place}, ${rates}; ${hub.says ?? describeHub(hub)}.`,
    ...status.runs.map((run) => sentenceOfRun(run, status.at)),
    ...status.runs.flatMap(({ run, branch, writerEpoch }) =>
      branch == null ? [] : [`${shownName(run)}: epoch ${writerEpoch} is a new line: ${branchWords(branch)}.`],
    ),
    ...status.runs.flatMap(({ run }) => lineSentences(run, status.lines ?? [])),
    ...(error === null ? [] : [error]),
    ...(status.doubtful ?? []).map(({ run, ...one }) => doubtfulWords(run, one)),
    ...(status.openPieces ?? []).map(({ run, ...one }) => openPiecesWords(run, one)),
    ...(status.smallDisks ?? []).map(({ says, fix }) => `${says.charAt(0).toUpperCase()}${says.slice(1)}. ${fix}`),
    // Missing from workers of earlier versions.
    ...asideSentences((status as Partial<LocalStatus>).aside ?? []),
  ];
}

/** Tells which folder is trained now, for a run with checkpoints in several folders. */
function lineSentences(run: string, all: NonNullable<LocalStatus["lines"]>): string[] {
  const [now, ...earlier] = all.filter((line) => line.run === run);
  if (now === undefined || earlier.length === 0) return [];
  const words = ({ folder, step, stepFrom }: FolderLine) =>
    `${folder === "" ? "the watched folder" : shownName(folder)} (${stepWords(step, stepFrom)})`;
  return [`${shownName(run)} is trained in ${words(now)}; earlier lines: ${earlier.map(words).join(", ")}.`];
}

/** Returns one line for each folder that was moved aside and that only a person removes. */
export const asideSentences = (aside: readonly LocalAside[]): string[] =>
  aside.map(
    ({ path, name, sizeBytes, files }) =>
      `Moved aside: ${shownName(name)}, ${formatCount(files)} ${files === 1 ? "file" : "files"}, ${formatBytes(sizeBytes)}, at ${shownName(path)}. It stays until you remove it, or until its checkpoint is known to be complete in the bucket.`,
  );

function sentenceOfRun(run: LocalRun, at: number): string {
  const { risk, sustain, etaMs } = run;
  // A worker of an earlier version leaves the place out.
  const [folder, ...others] = run.folders ?? [];
  const root = folder === undefined || others.length > 0 ? "" : ` in ${shownName(folder)}`;
  const where = run.safePlace == null ? "" : ` (${placeWords(run.safePlace)}${root})`;
  const safe =
    run.safeStep === null ? "nothing is safe yet" : `safe up to ${stepWords(run.safeStep, safeSourceOf(run))}${where}`;
  const eta = etaMs === null ? "" : `, about ${formatDuration(etaMs)} left`;
  const oldest =
    risk.oldestUnsafeAt === null ? "" : `, the oldest for ${formatDuration(Math.max(0, at - risk.oldestUnsafeAt))}`;
  const waits =
    risk.checkpoints === 0
      ? "nothing waits"
      : `${formatCount(risk.checkpoints)} checkpoints, ${formatCount(risk.files)} files, ${formatBytes(risk.bytes)} not yet safe${oldest}${eta}`;
  const steps = risk.steps === 0 ? "" : ` and ${formatCount(risk.steps)} steps`;
  const lost = `${formatDuration(risk.lossMs)}${steps} would be lost now`;
  const slow =
    sustain === null || sustain.canSustain
      ? ""
      : ` This uplink cannot keep up: it sustains one every ${formatDuration(sustain.leastIntervalMs)}.`;
  const held = run.isHeld ? " Its uploads are paused." : "";
  return `${shownName(run.run)}: ${safe}; ${waits}; ${lost}.${held}${slow}`;
}
