import type { AttemptExit, TakenJob } from "#protocol/jobs/node-jobs.ts";
import { sentenceOf, type Fault } from "#protocol/faults/fault.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import type { Terminal } from "../command-line/terminal.ts";
import type { AttemptReport } from "./job-calls.ts";

/** Messages of `tidemark work` about jobs. */
export interface JobMessages {
  /** Says that no job came, with the hub's reason. Says each reason once until a job comes. */
  waiting(queue: string, why: string | null): void;
  taken(job: TakenJob, folder: string): void;
  /** Says which inputs are fetched; the others are on this machine. */
  fetching(about: { objects: number; bytes: number; of: number }): void;
  /** Says that inputs of the next job are fetched while this one runs. */
  fetchingAhead(job: { id: string; name: string }, about: { objects: number; bytes: number }): void;
  saving(about: { files: number; bytes: number }): void;
  /** Says how the attempt ended, and whether the hub took the report. */
  ended(about: { jobId: string; attempt: number; exit: AttemptExit; accepted: boolean }): void;
  /** Says that the hub does not take the report of an end, which is put aside. */
  endRefused(report: AttemptReport, about: { fault: Fault; aside: string }): void;
  /** Says that the report of an end is in memory alone. */
  endNotKept(fault: Fault): void;
  /** Says that this machine waits before it takes another job, because it could not run the last one. */
  restsAfterTrouble(waitMs: number): void;
  /** Says that the hub has ended the attempt, so that its program is stopped. */
  over(job: TakenJob, reason: string): void;
  /** Says that a working folder stays because something in it is in no bucket. */
  folderKept(job: TakenJob, folder: string): void;
}

export function createJobMessages(terminal: Terminal): JobMessages {
  let said: string | null = null;
  return {
    waiting: (queue, why) => {
      const sentence = `Waiting for jobs of the queue ${queue}${why === null ? "" : `: ${why}`}.`;
      if (sentence === said) return;
      said = sentence;
      terminal.say(sentence, { type: "job-waiting", queue, why });
    },
    taken: ({ id: job, name, run, attempt, epoch }, folder) => {
      said = null;
      terminal.say(`Took the job ${visibleText(name)} (attempt ${formatCount(attempt)}), which writes ${run}.`, {
        type: "job-taken",
        job,
        name,
        run,
        attempt,
        epoch,
        folder,
      });
    },
    fetching: ({ objects, bytes, of }) => {
      const here = of - objects;
      const rest = here === 0 ? "" : `; ${formatCount(here)} are on this machine`;
      const text = `Fetching ${formatCount(objects)} objects of its inputs, ${formatBytes(bytes)}${rest}.`;
      terminal.say(text, { type: "job-inputs", objects, bytes, here });
    },
    fetchingAhead: ({ id: job, name }, { objects, bytes }) => {
      const text = `Fetching ${formatCount(objects)} objects, ${formatBytes(bytes)}, of the inputs of the next job, ${visibleText(name)}.`;
      terminal.say(text, { type: "job-inputs-ahead", job, name, objects, bytes });
    },
    saving: ({ files, bytes }) => {
      const text = `Saving ${formatCount(files)} files of its outputs, ${formatBytes(bytes)}.`;
      terminal.say(text, { type: "job-outputs", files, bytes });
    },
    ended: ({ jobId: job, attempt, exit, accepted }) => {
      const unknown = accepted ? "" : " The hub had ended this attempt before; nothing was changed.";
      terminal.say(`The attempt ${exitWords(exit)}.${unknown}`, { type: "job-ended", job, attempt, exit, accepted });
    },
    endRefused: ({ jobId, attempt }, { fault, aside }) => {
      const about = `The hub refuses the report on attempt ${formatCount(attempt)} of the job ${jobId}`;
      const sentence = `${about}: ${sentenceOf(fault.toData())} It is put aside as ${aside}.`;
      terminal.say(sentence, { type: "note", sentence });
    },
    endNotKept: (fault) => {
      const sentence = `The end of the attempt is not on disk, and is sent from memory: ${sentenceOf(fault.toData())}`;
      terminal.say(sentence, { type: "note", sentence });
    },
    restsAfterTrouble: (waitMs) => {
      const sentence = `This machine could not run the last job. It waits ${formatDuration(waitMs)} before it takes another.`;
      terminal.say(sentence, { type: "note", sentence });
    },
    over: ({ id: job, attempt }, reason) =>
      terminal.say(`The hub ended this attempt: ${visibleText(reason)}. Its program is stopped.`, {
        type: "job-over",
        job,
        attempt,
        reason,
      }),
    folderKept: ({ id: job }, folder) =>
      terminal.say(`Kept ${folder}: something in it is not safe in a bucket.`, {
        type: "job-folder-kept",
        job,
        folder,
      }),
  };
}

function exitWords(exit: AttemptExit): string {
  switch (exit.kind) {
    case "exited":
      return `ended with code ${exit.code}`;
    case "killed":
      return `was ended by ${exit.signal}`;
    case "refused":
      return `could not be started: ${visibleText(exit.why)}`;
    case "unsaved":
      return `ended with code 0, and its outputs could not be saved: ${visibleText(exit.why)}`;
    case "interrupted":
      return `was interrupted: ${visibleText(exit.why)}`;
  }
}
