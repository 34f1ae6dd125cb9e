"use client";
import { Check } from "lucide-react";
import type { ReactNode } from "react";
import { formatBytes, formatCount, formatDuration } from "#protocol/units.ts";
import type { NodeRow, RestoreCandidate, RestorePlan } from "#protocol/views.ts";
import { useRate } from "../_hub/choices.ts";
import { useNodes } from "../_hub/live.tsx";
import { nodeFactsLine } from "../_nodes/node-filter.ts";
import { Field, TextInput } from "../_ui/field.tsx";
import { Mark } from "../_ui/mark.tsx";
import { Select } from "../_ui/select.tsx";
import { Tag } from "../_ui/tag.tsx";
import { visibleText } from "../_ui/visible-text.ts";

/** What the person changed; null keeps what was suggested. */
export interface RestoreChoice {
  nodeId: string | null;
  targetPath: string | null;
}

interface RestoreFormProps {
  plan: RestorePlan;
  nodeId: string | null;
  targetPath: string;
  pathWrong: string | undefined;
  onChange: (change: (old: RestoreChoice) => RestoreChoice) => void;
}

const EGRESS: Record<RestorePlan["egress"], string> = {
  none: "no egress charge",
  "fair-use": "egress within the store's fair use",
  metered: "the store charges for egress",
  own: "your own store",
};

/** The four lines of a restore (step, node, path, files) and what was checked for them. */
export function RestoreForm({ plan, nodeId, targetPath, pathWrong, onChange }: RestoreFormProps) {
  const { checkpoint } = plan;
  const nodes = useNodes();
  const node = plan.candidates.find((candidate) => candidate.nodeId === nodeId);
  const fitting = plan.candidates.filter((candidate) => candidate.whyNot === null).length;
  return (
    <>
      <Line label="Step">
        <b className="nums font-mid">{formatCount(checkpoint.step)}</b>
        <Tag tone="safe">complete</Tag>
        <span className="ml-auto truncate text-faint">{plan.isNewest ? "newest complete" : "an older step"}</span>
      </Line>
      <Field
        label="To"
        hint={
          plan.candidates.length === 0
            ? "No node is known. Add one first."
            : fitting === 0
              ? "No node can take it now; the list says why."
              : fitting > 1
                ? `${formatCount(fitting)} nodes fit`
                : undefined
        }
      >
        {(ids) => (
          <Select
            {...ids}
            label="To"
            value={nodeId}
            placeholder="Choose a node"
            disabled={plan.candidates.length === 0}
            onChange={(id) => onChange((old) => ({ ...old, nodeId: id }))}
            choices={plan.candidates.map((candidate) => ({
              value: candidate.nodeId,
              label: visibleText(candidate.name),
              note: candidateNote(candidate, nodes?.get(candidate.nodeId)),
              whyNot: candidate.whyNot,
            }))}
          />
        )}
      </Field>
      <Field label="Path" error={pathWrong}>
        {(ids) => (
          <TextInput
            {...ids}
            kind="code"
            value={targetPath}
            onChange={(event) => onChange((old) => ({ ...old, targetPath: event.target.value }))}
          />
        )}
      </Field>
      <Line label="Files">
        <span>
          all {formatCount(checkpoint.fileCount)} {checkpoint.fileCount === 1 ? "file" : "files"}
        </span>
        <span className="nums ml-auto text-soft">{formatBytes(checkpoint.sizeBytes)}</span>
      </Line>
      <Checks plan={plan} node={node} />
    </>
  );
}

const candidateNote = (candidate: RestoreCandidate, node: NodeRow | undefined): string =>
  [
    node === undefined ? (candidate.gpu ?? "no GPU") : nodeFactsLine(node),
    candidate.busyWith === null ? "idle" : candidate.busyWith,
  ]
    .map(visibleText)
    .join(" · ");

function Line({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="grid gap-x-4 gap-y-1 py-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
      <span className="pt-[7px] text-soft">{label}</span>
      <div className="flex min-h-[34px] min-w-0 items-center gap-2 rounded-md border border-line bg-bg px-2.5">
        {children}
      </div>
    </div>
  );
}

function Checks({ plan, node }: { plan: RestorePlan; node: RestoreCandidate | undefined }) {
  const rate = useRate();
  if (node === undefined) return null;
  const checks: { tone: "ok" | "unknown" | "wrong"; text: string }[] = [
    ...(node.whyNot === null ? [] : [{ tone: "wrong" as const, text: visibleText(node.whyNot) }]),
    node.freeBytes === null
      ? { tone: "unknown", text: "free disk space is not known; it is checked on the node first" }
      : {
          tone: node.freeBytes > plan.checkpoint.sizeBytes ? "ok" : "wrong",
          text: `${formatBytes(node.freeBytes)} free`,
        },
    node.etaMs === null || node.bytesPerSecond === null
      ? { tone: "unknown", text: "no download was measured on this node yet" }
      : { tone: "ok", text: `about ${formatDuration(node.etaMs)} at this node's ${rate(node.bytesPerSecond)}` },
    {
      tone: plan.egress === "metered" ? "unknown" : "ok",
      text: `${formatCount(plan.requests)} reads, ${EGRESS[plan.egress]}`,
    },
    { tone: "ok", text: "every byte is verified before the folder takes its name" },
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
