"use client";
import { Check } from "lucide-react";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { RestoreCandidate, RestorePlan } from "#protocol/wire/views.ts";
import { useRate } from "../_hub/preferences/choices.ts";
import { Mark } from "../_ui/indicators/mark.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { countWords } from "./count-words.ts";
import { costWords, freeWords, wholeTimeMs } from "./restore-choice.ts";

const EGRESS: Record<RestorePlan["egress"], string> = {
  none: "no egress charge",
  "fair-use": "egress within the store's fair use",
  metered: "the store charges for egress",
  own: "your own store",
};

interface PlanChecksProps {
  plan: RestorePlan;
  node: RestoreCandidate | undefined;
  also: readonly RestoreCandidate[];
}

/** Lists the checks of a plan before it starts: disk space, time, requests, cost, pickles. */
export function PlanChecks({ plan, node, also }: PlanChecksProps) {
  const rate = useRate();
  if (node === undefined) return null;
  const all = [node, ...also];
  const cost = costWords(plan.cost, all.length);
  const timeMs = wholeTimeMs(
    all.map(({ etaMs }) => etaMs),
    plan.queue.atOnce,
  );
  const checks: { tone: "ok" | "unknown" | "wrong"; text: string }[] = [
    ...(node.whyNot === null ? [] : [{ tone: "wrong" as const, text: visibleText(node.whyNot) }]),
    node.freeBytes === null
      ? { tone: "unknown", text: "free disk space is not known; it is checked on the node first" }
      : {
          tone: node.freeBytes > plan.chosen.bytes ? "ok" : "wrong",
          text: `${formatBytes(node.freeBytes)} free`,
        },
    ...(also.length === 0
      ? []
      : [
          {
            tone: "ok" as const,
            text: `at most ${formatCount(plan.queue.atOnce)} at a time${timeMs === null ? "" : `, about ${formatDuration(timeMs)} for all`}`,
          },
        ]),
    node.etaMs === null || node.bytesPerSecond === null
      ? { tone: "unknown", text: "Download speed unknown" }
      : { tone: "ok", text: `about ${formatDuration(node.etaMs)} at this node's ${rate(node.bytesPerSecond)}` },
    {
      tone: plan.egress === "metered" ? "unknown" : "ok",
      text: `${formatBytes(plan.chosen.bytes * all.length)} in ${countWords(plan.requests * all.length, "read")}, ${cost === null ? EGRESS[plan.egress] : `${cost} by the price list${freeWords(plan.cost)}`}`,
    },
    // A node that wrote the pickle files itself is not warned about them.
    ...(plan.pickles === 0 || all.every(({ nodeId }) => nodeId === plan.checkpoint.nodeId)
      ? []
      : [
          {
            tone: "unknown" as const,
            text: `${countWords(plan.pickles, "pickle file")} written by ${visibleText(plan.checkpoint.nodeName)}: loading a pickle runs what is in it`,
          },
        ]),
    {
      tone: "ok",
      text: "verified first, then put in place; what is there under this name is kept beside it unless the bucket has exactly its content",
    },
  ];
  return (
    <ul className="flex flex-col gap-1 pt-1.5 text-soft sm:pl-36">
      {checks.map((check) => (
        <li key={check.text} className="nums flex items-start gap-2">
          <span className="flex h-5 w-3.5 shrink-0 items-center justify-center">
            {check.tone === "ok" ? (
              <Check size={14} className="text-safe" aria-label="good" />
            ) : (
              <Mark
                tone={check.tone === "wrong" ? "lost" : "quiet"}
                label={check.tone === "wrong" ? "wrong" : "note"}
              />
            )}
          </span>
          {check.text}
        </li>
      ))}
    </ul>
  );
}
