import type { KeepPolicy } from "#protocol/retention/keeping.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Returns a policy as one sentence. */
export function policyWords(policy: KeepPolicy | null): string {
  if (policy === null) return "Everything is kept.";
  const { last, everySteps, everyMs, best, mostBytes, trashMs } = policy;
  const kept = [
    ...(last === null ? [] : [last === 1 ? "the last one" : `the last ${formatCount(last)}`]),
    ...(everySteps === null ? [] : [`one every ${formatCount(everySteps)} steps`]),
    ...(everyMs === null ? [] : [`one every ${formatDuration(everyMs)}`]),
    ...(best === null
      ? []
      : [
          `the ${formatCount(best.count)} with the ${best.want === "min" ? "lowest" : "highest"} ${visibleText(best.metric)}`,
        ]),
  ];
  const most = mostBytes === null ? "" : `${kept.length === 0 ? "" : ", "}at most ${formatBytes(mostBytes)}`;
  if (kept.length === 0 && most === "") return "Everything is kept.";
  return `Keeps ${kept.join(", ")}${most}; the trash keeps ${formatDuration(trashMs)}.`;
}
