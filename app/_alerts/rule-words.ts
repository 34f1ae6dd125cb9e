import type { Severity } from "#protocol/alerts/severities.ts";
import type { AlertCondition, AlertKind, RuleDraft } from "#protocol/alerts/alerts.ts";
import { formatDuration } from "#protocol/base/units.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Returns the condition of a rule as text. */
export function conditionWords(condition: AlertCondition): string {
  switch (condition.kind) {
    case "at-risk":
      return `more than ${formatDuration(condition.longerThanMs)} of training at risk`;
    case "stalled":
      return `uploads wait and nothing moves for ${formatDuration(condition.longerThanMs)}`;
    case "silent":
      return `a node not heard from for ${formatDuration(condition.longerThanMs)}`;
    case "restore-failed":
      return `a restore failed within the last ${formatDuration(condition.withinMs)}`;
    case "rejected":
      return `more than ${condition.morePercent} % of at least ${condition.leastNodes} nodes rejected within ${formatDuration(condition.withinMs)}`;
    case "disk-full":
      return `less than ${condition.lessPercent} % of a disk free`;
    case "no-checkpoint":
      return `no checkpoint of a run safe for ${formatDuration(condition.longerThanMs)}`;
    case "bucket-away":
      return `a bucket out of reach of a node for ${formatDuration(condition.longerThanMs)}`;
    case "work-lost":
      return `an interruption cost more than ${formatDuration(condition.moreThanMs)} of training`;
    case "sign-ins-failed":
      return `more than ${condition.moreThan} sign-ins failed within ${formatDuration(condition.withinMs)}`;
    case "hub-disk":
      return `less than ${formatBytes(condition.lessFreeBytes)} of the hub's disk free, or more than ${formatBytes(condition.moreLogBytes)} in the log of its database`;
    case "doubtful":
      return `a checkpoint that may be incomplete was saved within the last ${formatDuration(condition.withinMs)}`;
    case "claim-refused":
      return `a node claimed a run of another node within the last ${formatDuration(condition.withinMs)}`;
    case "nothing-safe":
      return `a program ended with nothing of its run safe within the last ${formatDuration(condition.withinMs)}`;
    case "began-elsewhere":
      return "a program did not continue from the checkpoint that it was given";
    case "job-failed":
      return `a job failed within the last ${formatDuration(condition.withinMs)}`;
    case "queue-stuck":
      return `jobs of a queue wait and none was handed out for ${formatDuration(condition.longerThanMs)}`;
  }
}

/** Returns which nodes and runs a rule covers; empty for all. */
export function scopeWords({ scope }: Pick<RuleDraft, "scope">): string {
  return [
    ...(scope.nodes === null ? [] : [`nodes ${scope.nodes}`]),
    ...(scope.runs === null ? [] : [`runs ${scope.runs}`]),
    ...Object.entries(scope.labels).map(([name, value]) => `${name}=${value}`),
  ].join(", ");
}

export const SEVERITY_TONES: Readonly<Record<Severity, Tone>> = { info: "moving", warning: "risk", critical: "lost" };

const MINUTE = 60_000;
const MIB = 1024 ** 2;
/** Parameters of each kind of condition, one form field each. */
export const PARAMETERS: Readonly<Record<AlertKind, readonly Parameter[]>> = {
  "at-risk": [{ key: "longerThanMs", label: "Longer than", unit: "min", scale: MINUTE, usual: 30 }],
  stalled: [{ key: "longerThanMs", label: "Longer than", unit: "min", scale: MINUTE, usual: 10 }],
  silent: [{ key: "longerThanMs", label: "Longer than", unit: "min", scale: MINUTE, usual: 5 }],
  "restore-failed": [{ key: "withinMs", label: "Until after", unit: "min", scale: MINUTE, usual: 1440 }],
  rejected: [
    { key: "morePercent", label: "More than", unit: "%", scale: 1, usual: 30 },
    { key: "leastNodes", label: "Of at least", unit: "nodes", scale: 1, usual: 5 },
    { key: "withinMs", label: "Within", unit: "min", scale: MINUTE, usual: 60 },
  ],
  "disk-full": [{ key: "lessPercent", label: "Less than", unit: "% of the disk free", scale: 1, usual: 10 }],
  "no-checkpoint": [{ key: "longerThanMs", label: "Longer than", unit: "min", scale: MINUTE, usual: 120 }],
  "bucket-away": [{ key: "longerThanMs", label: "Longer than", unit: "min", scale: MINUTE, usual: 2 }],
  "work-lost": [
    { key: "moreThanMs", label: "More than", unit: "min", scale: MINUTE, usual: 30 },
    { key: "withinMs", label: "Until after", unit: "min", scale: MINUTE, usual: 1440 },
  ],
  "sign-ins-failed": [
    { key: "moreThan", label: "More than", unit: "sign-ins", scale: 1, usual: 20 },
    { key: "withinMs", label: "Within", unit: "min", scale: MINUTE, usual: 10 },
  ],
  "hub-disk": [
    { key: "lessFreeBytes", label: "Less than", unit: "MiB of disk free", scale: MIB, usual: 512 },
    { key: "moreLogBytes", label: "Log longer than", unit: "MiB", scale: MIB, usual: 256 },
  ],
  doubtful: [{ key: "withinMs", label: "Until after", unit: "h", scale: 60 * MINUTE, usual: 24 }],
  "claim-refused": [{ key: "withinMs", label: "Until after", unit: "min", scale: MINUTE, usual: 60 }],
  "nothing-safe": [{ key: "withinMs", label: "Until after", unit: "min", scale: MINUTE, usual: 1440 }],
  "began-elsewhere": [],
  "job-failed": [{ key: "withinMs", label: "Until after", unit: "h", scale: 60 * MINUTE, usual: 24 }],
  "queue-stuck": [{ key: "longerThanMs", label: "Longer than", unit: "min", scale: MINUTE, usual: 30 }],
};

interface Parameter {
  key: string;
  label: string;
  unit: string;
  /** Factor from the unit in the form to the unit of the parameter. */
  scale: number;
  usual: number;
}
