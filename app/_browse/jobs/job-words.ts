import type { BucketAction, BucketJobView } from "#protocol/buckets/bucket-jobs.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { Tone } from "../../_ui/indicators/mark.tsx";
import { shortText } from "../../_ui/text/visible-text.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

/** Wording of bucket jobs. */

export const ACTION_WORDS: Readonly<Record<BucketAction, { verb: string; now: string; done: string }>> = {
  copy: { verb: "Copy", now: "copying", done: "copied" },
  move: { verb: "Move", now: "moving", done: "moved" },
  delete: { verb: "Delete", now: "deleting", done: "deleted" },
  revive: { verb: "Bring back", now: "bringing back", done: "brought back" },
};

export const countOf = (objects: number): string => `${formatCount(objects)} ${objects === 1 ? "object" : "objects"}`;

const placeWords = (folder: string): string => (folder === "" ? "the top" : shortText(folder, 60));

/** Returns action, count, source and target of a job as a sentence. */
export function jobSentence(job: BucketJobView): string {
  const to = job.target === null ? "" : ` → ${placeWords(job.target)}`;
  const where = job.action === "revive" ? "in" : "from";
  return `${ACTION_WORDS[job.action].verb} ${countOf(job.plan?.objects ?? 0)} ${where} ${placeWords(job.from)}${to}`;
}

export function jobFacts(job: BucketJobView): string {
  const { plan, doneObjects, doneBytes, failedObjects, startedBy } = job;
  return [
    `${formatCount(doneObjects)} of ${formatCount(plan?.objects ?? 0)}`,
    `${formatBytes(doneBytes)} of ${formatBytes(plan?.bytes ?? 0)}`,
    ...(failedObjects > 0 ? [`${countOf(failedObjects)} stayed`] : []),
    `by ${startedBy}`,
  ].join(" · ");
}

export function jobTone(job: BucketJobView): Tone {
  switch (job.state) {
    case "done":
      return job.failedObjects === 0 ? "safe" : "risk";
    case "running":
      return job.fault === null ? "moving" : "risk";
    case "failed":
      return "lost";
    case "planning":
    case "planned":
    case "waiting":
      return "risk";
    case "cancelled":
    case "expired":
      return "quiet";
  }
}

export const isJobOpen = ({ state }: Pick<BucketJobView, "state">): boolean =>
  state === "waiting" || state === "running";
