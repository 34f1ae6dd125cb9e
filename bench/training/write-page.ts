import { percentile } from "../fleet/percentile.ts";
import { measuredWith } from "../report/measured-with.ts";
import type { Row, TrainingResult } from "./result.ts";

/** Writes the page of the results of `training`. */

/** Largest share by which a full uplink may lengthen a step. */
const MOST_LONGER = 0.02;

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;
const longerOf = ({ stepRatio }: Row, share = 0.5): number => percentile(stepRatio, share) - 1;

function verdict({ rows }: TrainingResult): string {
  const own = rows.find(({ way }) => way === "Tidemark");
  if (own === undefined) return "* Tidemark: not measured";
  const longer = longerOf(own);
  return `* ${longer <= MOST_LONGER ? "met" : "**not met**"}: beside a full uplink a step takes at most ${percent(MOST_LONGER)} longer (${percent(longer)})`;
}

/** Describes where the training, the uploading program, and hub and store ran. */
function placeOf({ device, machine }: TrainingResult): string {
  if (device === null) {
    return `A thread that computes has one of two cores to itself, as a training loop that feeds a GPU has. Hub and store, which would be elsewhere,
have the other core; whoever uploads runs where the system puts it.`;
  }
  return `A language model learns on an ${device} with PyTorch; four processes make its batches. They and whoever uploads share ${machine.cores - 4} of ${machine.cores}
cores; hub and store, which would be elsewhere, have the other four. A checkpoint is the weights and the state of the optimizer.`;
}

function section(result: TrainingResult): string {
  const { rows, device, uplinkBytesPerSecond, checkpointBytes, everySeconds, saves } = result;
  const lines = rows.map((row) => {
    const { way, p50StepMs, p99StepMs, stallSeconds } = row;
    const longer = `${percent(longerOf(row))} (${percent(longerOf(row, 1))})`;
    return `| ${way} | ${longer} | ${p50StepMs.toFixed(2)} ms | ${p99StepMs.toFixed(2)} ms | ${stallSeconds.toFixed(2)} s |`;
  });
  const rounds = Math.max(0, ...rows.map(({ stepRatio }) => stepRatio.length));
  return `## ${device === null ? "A thread that computes" : "A model on a GPU"}

${placeOf(result)}
Every ${everySeconds} s a checkpoint of ${(checkpointBytes / 1e6).toFixed(0)} MB is written, ${saves} in a turn, over an uplink of ${((uplinkBytesPerSecond * 8) / 1e6).toFixed(0)} Mbit/s: it is full nearly all the time.
Rounds: ${rounds}.

| checkpoints are saved | longer steps | median step | P99 step | stands still |
| --- | ---: | ---: | ---: | ---: |
${lines.join("\n")}

${verdict(result)}

${measuredWith(result, { hasLink: false })}
`;
}

/** Returns the whole page, with one section for each result. */
export function trainingPage(results: readonly TrainingResult[]): string {
  const kept = results.map(({ device }) => `\`${device === null ? "training" : "training-gpu"}.json\``);
  return `# What saving costs the training beside it

Made by \`npm run bench -- training\` from ${kept.join(" and ")} in \`bench/results/\`; do not edit.

Each way of saving has its turn in every round. "Longer steps" are against the same round's steps with saving to the disk only: the
median of the rounds, the longest in brackets. "Stands still" is how long training waits at a checkpoint besides writing its files.

${results.map(section).join("\n")}`;
}
