import type { Advice, AdviceFact } from "#protocol/alerts/advice.ts";
import type { AdviceKind } from "#protocol/alerts/advice-kinds.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Wording of advice: the finding, what to do, and the samples it is based on. */

const DIRECTION = { up: "up", down: "down" } as const;
const TONE: Readonly<Record<AdviceKind, Tone>> = {
  interval: "risk",
  degrading: "risk",
  throttled: "risk",
  asymmetric: "quiet",
  far: "quiet",
  "best-bucket": "moving",
  "part-size": "moving",
  connections: "moving",
};
export const adviceTone = (kind: AdviceKind): Tone => TONE[kind];

const named = (name: string | null, missing: string): string => (name === null ? missing : visibleText(name));

/** Returns the finding as one sentence. */
export function adviceTitle(advice: Advice): string {
  const node = named(advice.nodeName, "A node");
  const bucket = named(advice.profileName, "its bucket");
  const better = named(advice.betterName, "another bucket");
  const way = DIRECTION[advice.way ?? "up"];
  switch (advice.kind) {
    case "interval":
      return `${visibleText(advice.run ?? "A run")} on ${node} saves more often than its link can upload.`;
    case "degrading":
      return `${node} goes ${way} slower than it used to.`;
    case "throttled":
      return `${node} is throttled going ${way}: fast at first, then slow.`;
    case "asymmetric":
      return `${node} is far slower ${way} than ${way === "up" ? "down" : "up"}.`;
    case "far":
      return advice.betterId === null
        ? `${node} is far from ${bucket}.`
        : `${node} is far from ${bucket}; ${better} is nearer to its neighbours.`;
    case "best-bucket":
      return `From ${visibleText(advice.region ?? "")}, ${better} takes checkpoints faster than ${bucket}.`;
    case "part-size":
      return `Uploads to ${bucket} go faster in parts of ${betterWords(advice)}.`;
    case "connections":
      return `Uploads to ${bucket} go faster with ${betterWords(advice)}.`;
  }
}

export function betterWords({ better }: Pick<Advice, "better">): string {
  if (better === null) return "another setting";
  return "partBytes" in better ? formatBytes(better.partBytes) : `about ${formatCount(better.connections)} connections`;
}

const TODO: Readonly<Record<AdviceKind, string>> = {
  interval: "Save less often, save less, or move the run to a node with a faster link.",
  degrading: "Measure it again; if it stays slow, give the machine back or find out what else uses its link.",
  throttled: "Expect the later rate for large checkpoints, or limit the node to it so that others keep theirs.",
  asymmetric: "Good for reading; for training that saves much, the slow direction decides.",
  far: "Let nodes of this place join with a token of a nearer bucket.",
  "best-bucket": "Let nodes of this region join with a token of that bucket.",
  "part-size": "Nodes take it at their next start or connection.",
  connections: "Nodes begin with it at their next start; the engine continues to search for the best number.",
};
export const adviceTodo = (kind: AdviceKind): string => TODO[kind];

export function factWords({ value, as }: AdviceFact, rate: (bytesPerSecond: number) => string): string {
  switch (as) {
    case "rate":
      return rate(value);
    case "duration":
      return value < 1_000 ? `${Math.round(value)} ms` : formatDuration(value);
    case "bytes":
      return formatBytes(value);
    case "times":
      return `${value.toFixed(value < 10 ? 1 : 0)} times`;
    case "share":
      return `${Math.round(value * 100)} %`;
    case "count":
      return formatCount(value);
  }
}

/** Returns `from 23 values of one node, 8 of them of benchmarks; needs at least 5`. */
export const sampleWords = (sample: Pick<Advice, "samples" | "nodes" | "least" | "ofBenchmarks">): string =>
  `from ${valueWords(sample)}; needs at least ${formatCount(sample.least)}`;

/** Returns `23 values of one node, 8 of them of benchmarks`. */
export function valueWords({
  samples,
  nodes,
  ofBenchmarks,
}: Pick<Advice, "samples" | "nodes" | "ofBenchmarks">): string {
  const of = nodes === 1 ? "one node" : `${formatCount(nodes)} nodes`;
  const values = `${formatCount(samples)} values of ${of}`;
  if (ofBenchmarks === 0) return values;
  return `${values}, ${ofBenchmarks === samples ? "all" : formatCount(ofBenchmarks)} of them of benchmarks`;
}
