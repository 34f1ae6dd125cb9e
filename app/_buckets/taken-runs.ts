import { formatCount } from "#protocol/base/units.ts";
import type { RunsTaken } from "#protocol/wire/upkeep.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

const MOST_NAMED = 3;
const counted = (count: number, one: string): string => `${formatCount(count)} ${one}${count === 1 ? "" : "s"}`;

/** Returns in sentences what the hub found in a bucket, for the person who asked for it. */
export function takenWords({ isRunning, found, writing }: RunsTaken): string {
  if (isRunning || found === null) return "The bucket is being read. It continues when you leave this page.";
  const { runs, checkpoints, missing, refused, refusedKeys } = found;
  const sentences = [
    runs === 0
      ? "There are no runs below this prefix."
      : checkpoints === 0
        ? `${counted(runs, "run")} in the bucket, with no checkpoint that was not known.`
        : `${counted(runs, "run")} in the bucket, ${counted(checkpoints, "checkpoint")} taken over. No byte was moved.`,
  ];
  if (missing > 0) sentences.push(`${counted(missing, "known checkpoint")} not in the bucket any more.`);
  const [first] = refusedKeys;
  if (refused > 0) {
    const why = first === undefined ? "" : `, the first ${visibleText(first.key)}: ${visibleText(first.why)}`;
    sentences.push(`${counted(refused, "object")} refused${why}.`);
  }
  if (writing.length > 0) {
    const named = writing.slice(0, MOST_NAMED).map(({ node, run }) => `${visibleText(node)} (${visibleText(run)})`);
    const more = writing.length > MOST_NAMED ? ` and ${formatCount(writing.length - MOST_NAMED)} more` : "";
    const them = writing.length === 1 ? "it" : "them";
    sentences.push(`Still written without the hub by ${named.join(", ")}${more}: start ${them} with --hub.`);
  }
  return sentences.join(" ");
}
