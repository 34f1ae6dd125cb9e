import { formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { lostWords } from "#protocol/history/losses.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { beganElsewhereWords } from "#protocol/history/passed-over.ts";
import type { StepSource } from "#protocol/checkpoint/place.ts";
import { shownStep, stepTitle, stepWords } from "#protocol/checkpoint/step-words.ts";
import type { Terminal } from "../../command-line/terminal.ts";

/** Messages about the program beside the worker, and about where it continues. */
export interface ProgramMessages {
  setAside(about: { path: string; place: string; state: "whole" | "doubtful" | "torn" }): void;
  /** Warns that checkpoints above the chosen one stay, because nothing shows that this run wrote them. */
  leftInPlace(about: { run: string; folder: string; names: readonly string[] }): void;
  /** Checkpoints of an earlier epoch stay on the disk and are not captured. `step`: where the present epoch started. */
  outdated(about: { run: string; folder: string; step: number; names: readonly string[] }): void;
  /** Says that `--from` was applied at an earlier start already. */
  chosenBefore(about: { run: string; from: number | "beginning"; step: number | null }): void;
  /** Warns that a program did not continue from the checkpoint it was given. `from` null: it began at its beginning. */
  beganElsewhere(about: { run: string; given: number; from: number | null; path: string; wrote: string | null }): void;
  /** Warns that the framework will create a new folder at its next start, outside of the watched one. */
  writesElsewhere(about: { run: string; folder: string; above: string; next: string }): void;
  /** Says that a program counts from a lower step than the run had reached, and that a new epoch begins. */
  lineBegun(about: { run: string; epoch: number; branch: LineBranch }): void;
  /**
   * Warns that the program failed at once. `before`: the complete step before the one it was given; null when there is none.
   */
  failedAtOnce(about: { run: string; step: number; code: number; ranMs: number; before: number | null }): void;
  /** Says that the bucket holds a later step than the chosen one, which may be incomplete. */
  doubtfulLater(about: { run: string; step: number; why: string }): void;
  /** Says where the run continues; `step` null: it starts from the beginning. */
  resuming(about: { run: string; step: number | null; source: StepSource | undefined; path: string | null }): void;
  /** Prints what an interruption cost. */
  lost(loss: {
    run: string;
    fromStep: number | null;
    lastStep: number;
    lostSteps: number;
    lostMs: number;
    isEstimated?: boolean | undefined;
  }): void;
  programEnded(end: { code: number | null; signal: string | null }): void;
  restarting(about: { code: number; waitMs: number }): void;
}

/** Prints how the program beside the worker starts, continues and ends. */
export const createProgramMessages = (terminal: Terminal): ProgramMessages => ({
  setAside: ({ path, place, state }) => {
    const why = {
      torn: "it was not finished",
      doubtful: "nothing says whether it was finished",
      whole: "the run does not go on from it",
    }[state];
    terminal.say(`Set ${visibleText(path)} aside as ${visibleText(place)}: ${why}.`, {
      type: "set-aside",
      path,
      place,
      state,
    });
  },
  leftInPlace: ({ run, folder, names }) =>
    terminal.say(
      `Left ${names.map(visibleText).join(", ")} in ${visibleText(folder)}: nothing shows that ${run} wrote ${names.length === 1 ? "it" : "them"}. A program that takes the highest number goes on from there.`,
      { type: "left-in-place", run, folder, names },
    ),
  outdated: ({ run, folder, step, names }) =>
    terminal.say(
      `Left ${names.map(visibleText).join(", ")} in ${visibleText(folder)} without uploading: ${run} has gone on from ${stepWords(step)} since.`,
      { type: "left-in-place", run, folder, names },
    ),
  chosenBefore: ({ run, from, step }) => {
    const chosen = from === "beginning" ? "from its beginning" : `from ${stepWords(from)}`;
    const now = step === null ? "It has saved nothing since." : `It goes on from ${stepWords(step)}.`;
    terminal.say(`${run} was started ${chosen} before (--from). ${now}`, { type: "chosen-before", run, from, step });
  },
  beganElsewhere: ({ run, given, from, path, wrote }) =>
    terminal.say(
      `The program of ${run} ${beganElsewhereWords({ given, from, path: visibleText(path), wrote: wrote === null ? null : visibleText(wrote) })}. TIDEMARK_RESUME_PATH says where the checkpoint is.`,
      { type: "began-elsewhere", run, given, from, path, wrote },
    ),
  writesElsewhere: ({ run, folder, above, next }) =>
    terminal.say(
      `The program of ${run} may write elsewhere from now on: because ${visibleText(folder)} is there, its framework makes a new folder in ${visibleText(above)} (${visibleText(next)}). Watch ${visibleText(above)} instead.`,
      { type: "writes-elsewhere", run, folder, above, next },
    ),
  lineBegun: ({ run, epoch, branch }) => {
    const { step, after } = branch;
    const before = stepWords(after.step, after.isByTime === true ? "time" : undefined);
    terminal.say(
      `Training of ${run} began anew: ${stepWords(step)} was written after ${before}. What it writes from now on is kept as epoch ${epoch}, a new line; everything before stays in the bucket.`,
      { type: "line-begun", run, step, after: after.step, epoch, branch },
    );
  },
  failedAtOnce: ({ run, step, code, ranMs, before }) => {
    const what = `The program ended with ${code} after ${formatDuration(ranMs)}, before it saved anything: ${stepWords(step)} of ${run} may not be what it expects.`;
    const way =
      before === null
        ? "There is no complete step before it; `--from none` starts from the beginning."
        : `The complete step before it is ${shownStep(before)}; \`tidemark run --from ${before}\` starts there.`;
    terminal.say(`${what} ${way}`, { type: "failed-at-once", run, step, code, ranMs, before });
  },
  doubtfulLater: ({ run, step, why }) =>
    terminal.say(
      `${stepTitle(step)} of ${run} is in the bucket and doubtful: ${visibleText(why)}. \`tidemark run --from ${step}\` goes on from it all the same.`,
      { type: "doubtful-later", run, step, why },
    ),
  resuming: ({ run, step, source, path }) => {
    const text =
      step === null ? `${run} starts from the beginning.` : `${run} goes on from ${stepWords(step, source)}.`;
    terminal.say(text, { type: "resuming", run, step, ...(source !== undefined && { stepSource: source }), path });
  },
  lost: ({ run, fromStep, lastStep, lostSteps, lostMs, isEstimated = false }) => {
    const again = `${lostWords({ lostSteps, lostMs, isEstimated })} ${lostSteps === 0 ? "is" : "are"} done again`;
    const about = isEstimated && lostSteps > 0 ? "about " : "";
    const facts = { run, fromStep, lastStep, lostSteps, lostMs, isEstimated };
    terminal.say(`${run} had come to ${about}${stepWords(lastStep)}: ${again}.`, {
      type: "work-lost",
      ...facts,
    });
  },
  programEnded: ({ code, signal }) =>
    terminal.say(signal === null ? `The program ended with ${code}.` : `The program was ended by ${signal}.`, {
      type: "program-ended",
      code,
      signal,
    }),
  restarting: ({ code, waitMs }) =>
    terminal.say(`The program failed (${code}); it is started again in ${formatDuration(waitMs)}.`, {
      type: "restarting",
      code,
      waitMs,
    }),
});
