import type { RunName } from "#protocol/base/names.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { sentenceOf, type Fault } from "#protocol/faults/fault.ts";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import type { Capture } from "../../capture/capture.ts";
import type { Candidate } from "../../capture/detection/find.ts";
import { join } from "node:path";
import { apartOf, untakenWords, type Untaken } from "../../capture/detection/untaken.ts";
import type { Terminal } from "../../command-line/terminal.ts";
import type { SmallDisk } from "../../host/judge-state-disk.ts";
import { endSentence, lastWords, type LastOfRun } from "../end-sentences.ts";
import { checkpointName } from "./checkpoint-name.ts";

/** Messages about captures and uploads. */
export interface CaptureMessages {
  captured(capture: Capture): void;
  passedOver(candidate: Candidate): void;
  /** Warns that captures go to a disk with much less room than that of the checkpoints, once for each folder. */
  smallDisk(folder: string, about: SmallDisk): void;
  refused(candidate: Pick<Candidate, "path">, fault: Fault): void;
  /** Warns that the program ended and nothing that it wrote there was captured. */
  nothingTaken(about: { run: string; folder: string; untaken: Untaken; isRefused: boolean }): void;
  /** Warns that the program ended and left files there that are in no checkpoint. */
  leftAtEnd(about: { run: string; folder: string; untaken: Untaken }): void;
  uploadEnded(capture: Capture): void;
  /** Warns that a run saves more often than the uplink can carry. */
  cannotSustain(about: { run: string; intervalMs: number; leastMs: number }): void;
  /** Prints how many checkpoints are not safe when the worker is asked to stop. */
  draining(unsafe: number): void;
  /** Prints what is not safe at the end. */
  leaving(backlog: readonly RunBacklog[], of: (run: RunName) => LastOfRun): void;
  /** Warns that a checkpoint that was called safe lacks files of its step. */
  doubtedLate(about: { run: string; step: number; why: string }): void;
  /** Says that a step is whole: the pieces of all nodes are there. */
  piecesJoined(about: { run: string; step: number }): void;
  /** Says that the end waits for the pieces of other nodes. */
  awaitingPieces(about: { run: string; step: number; mostMs: number }): void;
}

/** Shortest time between two forecasts of one run. */
const FORECAST_QUIET_MS = 10 * 60_000;

const captureFacts = (capture: Capture) => ({
  run: capture.run,
  step: capture.step,
  checkpointId: capture.id,
  ...(capture.role !== undefined && { role: capture.role }),
  bytes: capture.sizeBytes,
});

function placeWords(untaken: Untaken): string {
  const apart = apartOf(untaken);
  if (apart === null) return "in no checkpoint format";
  const where = {
    hidden: "in a hidden folder",
    link: "behind a link to a folder",
    deep: "in a folder below many others",
    data: "in a folder of data or tools",
  };
  if (apart.kind === "dot") return "hidden by the dot of its name, and counts as not finished";
  return `${where[apart.kind]}, which is not looked into`;
}

/** Returns what a person can do about files that were not taken, as the begin of a sentence. */
function nextWords(folder: string, untaken: Untaken): string {
  const apart = apartOf(untaken);
  if (apart?.kind === "dot")
    return "Where it is a checkpoint, save it without the dot in front of its name, or with `tidemark save`";
  return apart === null
    ? "Where it is a checkpoint, name it with --pattern, or save it with `tidemark save`"
    : `Where it is a checkpoint, watch that folder itself: --watch ${visibleText(join(folder, apart.folder))}`;
}

/** Prints what happens to captures and uploads. */
export function createCaptureMessages(terminal: Terminal): CaptureMessages {
  /** When a sentence about a folder or a run was last printed. */
  const said = new Map<string, number>();
  return {
    captured: (capture) => {
      const { doubt } = capture;
      const doubtful = doubt === undefined ? "" : ` It is doubtful: ${visibleText(doubt)}.`;
      terminal.say(
        `Captured ${checkpointName(capture)}: ${formatCount(capture.files.length)} files, ${formatBytes(capture.sizeBytes)}.${doubtful}`,
        { type: "captured", ...captureFacts(capture), ...(doubt !== undefined && { doubt }) },
      );
    },
    passedOver: ({ path, step }) =>
      terminal.say(`Left ${visibleText(path)} alone: a newer checkpoint is there.`, {
        type: "passed-over",
        path,
        step,
      }),
    smallDisk: (folder, { says, fix }) => {
      const key = `small disk ${folder}`;
      if (said.has(key)) return;
      said.set(key, performance.now());
      terminal.say(`${says.charAt(0).toUpperCase()}${says.slice(1)}. ${fix}`, {
        type: "small-disk",
        folder,
        says,
        fix,
      });
    },
    refused: ({ path }, fault) =>
      terminal.say(`Did not take ${visibleText(path)}. ${sentenceOf(fault.toData())}`, {
        type: "refused",
        path,
        fault: fault.toData(),
      }),
    nothingTaken: ({ run, folder, untaken, isRefused }) =>
      terminal.say(
        `Nothing that the program wrote to ${visibleText(folder)} is safe: ${untakenWords(untaken)} ${untaken.files === 1 ? "is" : "are"} ${isRefused ? "not taken" : placeWords(untaken)}. ${nextWords(folder, untaken)}; \`tidemark doctor --watch ${visibleText(folder)}\` shows what would be taken.`,
        { type: "nothing-taken", run, folder, files: untaken.files, bytes: untaken.bytes },
      ),
    leftAtEnd: ({ run, folder, untaken }) =>
      terminal.say(
        `Not kept of what the program wrote to ${visibleText(folder)}: ${untakenWords(untaken)}, ${placeWords(untaken)}. ${nextWords(folder, untaken)}.`,
        {
          type: "left-at-end",
          run,
          folder,
          files: untaken.files,
          bytes: untaken.bytes,
          smallFiles: untaken.small.files,
        },
      ),
    uploadEnded: (capture) =>
      terminal.say(endSentence(checkpointName(capture), capture), {
        type: capture.state,
        ...captureFacts(capture),
        fault: capture.fault,
      }),
    cannotSustain: ({ run, intervalMs, leastMs }) => {
      const key = `sustain ${run}`;
      if (Date.now() - (said.get(key) ?? 0) < FORECAST_QUIET_MS) return;
      said.set(key, Date.now());
      const text = `${run} saves every ${formatDuration(intervalMs)}, and this uplink sustains one every ${formatDuration(leastMs)}: older ones will be skipped.`;
      terminal.say(text, { type: "cannot-sustain", run, intervalMs, leastIntervalMs: leastMs });
    },
    draining: (unsafe) => {
      if (unsafe === 0) return;
      const text = `Uploading ${unsafe === 1 ? "one checkpoint" : `${formatCount(unsafe)} checkpoints`} while there is time.`;
      terminal.say(text, { type: "draining", checkpoints: unsafe });
    },
    leaving: (backlog, of) => {
      for (const run of backlog) terminal.say(...lastWords(run, of(run.run)));
    },
    doubtedLate: ({ run, step, why }) =>
      terminal.say(
        `${checkpointName({ run, step })} is not whole after all: ${visibleText(why)}. It is doubtful in the bucket now, and not safe; its step is captured again when all its files are there.`,
        { type: "doubted-late", run, step, why },
      ),
    piecesJoined: ({ run, step }) =>
      terminal.say(`Safe: ${checkpointName({ run, step })}, with the pieces of all nodes.`, {
        type: "pieces-joined",
        run,
        step,
      }),
    awaitingPieces: ({ run, step, mostMs }) =>
      terminal.say(
        `Waiting for the pieces of other nodes of ${checkpointName({ run, step })}, ${formatDuration(mostMs)} at most.`,
        { type: "awaiting-pieces", run, step },
      ),
  };
}
