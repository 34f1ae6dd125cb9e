"use client";
import { Check } from "lucide-react";
import { useState, type ReactNode } from "react";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { NodeRow, RestoreCandidate, RestorePlan } from "#protocol/wire/views.ts";
import { useRate } from "../_hub/choices.ts";
import { useNodes } from "../_hub/live.tsx";
import { nodeFactsLine } from "../_nodes/node-filter.ts";
import { wordsOf } from "../_hub/fault-of.ts";
import { Banner } from "../_ui/banner.tsx";
import { Button } from "../_ui/button.tsx";
import { Field } from "../_ui/field.tsx";
import { TextField } from "../_ui/text-field.tsx";
import { Mark } from "../_ui/mark.tsx";
import { onDemand } from "../_ui/on-demand.tsx";
import { Select } from "../_ui/select.tsx";
import { Skeleton } from "../_ui/skeleton.tsx";
import { Tag } from "../_ui/tag.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { checkpointNote } from "../_runs/checkpoint-words.ts";
import { VerifiedNote } from "../_verifying/verified-note.tsx";
import { FileChoice } from "./file-choice.tsx";
import { PickList } from "./pick-list.tsx";
import {
  chosenNodes,
  costWords,
  freeWords,
  planned,
  putWhere,
  usesOwnFolders,
  wholeTimeMs,
  type RestoreChoice,
} from "./restore-choice.ts";
import { TargetOffers } from "./target-offers.tsx";
import { formatBytes } from "../_ui/sizes.ts";

interface RestoreFormProps {
  plan: RestorePlan;
  nodeId: string | null;
  targetPath: string;
  pathWrong: string | undefined;
  choice: RestoreChoice;
  /** The plan is that of the tensors as they are typed. */
  areTensorsKnown: boolean;
  /** Another checkpoint, in place of a damaged one. */
  onInstead: (checkpointId: string) => void;
  onChange: (change: (old: RestoreChoice) => RestoreChoice) => void;
  /** The path that stays while the cursor is in it; null: it may be suggested anew. */
  onHold: (path: string | null) => void;
}

const TensorChoice = onDemand(
  () => import("./tensor-choice.tsx").then((module) => module.TensorChoice),
  () => <Skeleton className="my-1.5 h-24 w-full" />,
);

const EGRESS: Record<RestorePlan["egress"], string> = {
  none: "no egress charge",
  "fair-use": "egress within the store's fair use",
  metered: "the store charges for egress",
  own: "your own store",
};

/** The four lines of a restore (step, node, path, files) and what was checked for them. */
export function RestoreForm({
  plan,
  nodeId,
  targetPath,
  pathWrong,
  choice,
  areTensorsKnown,
  onChange,
  onInstead,
  onHold,
}: RestoreFormProps) {
  const [isToMany, setToMany] = useState(choice.also.length > 0);
  const { checkpoint } = plan;
  const nodes = useNodes();
  const node = plan.candidates.find((candidate) => candidate.nodeId === nodeId);
  const put = putWhere(plan, targetPath);
  const isUpperBound = choice.files !== null && planned(choice.files) === null;
  const others = plan.candidates.filter((candidate) => candidate.nodeId !== nodeId);
  const fitting = plan.candidates.filter((candidate) => candidate.whyNot === null).length;
  return (
    <>
      <Line label="Step">
        <b className="nums font-mid">{formatCount(checkpoint.step)}</b>
        {checkpoint.damage === null ? <Tag tone="safe">complete</Tag> : <Tag tone="lost">damaged</Tag>}
        <VerifiedNote row={checkpoint} />
        <span className="ml-auto truncate text-faint">
          {plan.isNewest ? "newest complete" : (checkpointNote(checkpoint) ?? "an older step")}
        </span>
      </Line>
      <Field
        label="To"
        hint={
          plan.candidates.length === 0
            ? "No node is known. Add one first."
            : fitting === 0
              ? "No node can take it now; the list says why."
              : fitting > 1
                ? `${formatCount(fitting)} nodes have enough space`
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
            onChange={(id) =>
              onChange((old) => ({
                ...old,
                nodeId: id,
                // The training folder of one node is none of the next one.
                targetPath: old.targetPath === plan.trainingPath ? null : old.targetPath,
              }))
            }
            choices={plan.candidates.map((candidate) => ({
              value: candidate.nodeId,
              label: visibleText(candidate.name),
              note: candidateNote(candidate, nodes?.get(candidate.nodeId)),
              whyNot: candidate.whyNot,
            }))}
          />
        )}
      </Field>
      {others.length > 0 && (
        <Line label="">
          <label className="flex items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={isToMany}
              onChange={(event) => {
                setToMany(event.target.checked);
                if (!event.target.checked) onChange((old) => ({ ...old, also: [] }));
              }}
            />
            Restore to several nodes
          </label>
          {choice.also.length > 0 && (
            <span className="nums ml-auto text-soft">{formatCount(choice.also.length + 1)} nodes</span>
          )}
        </Line>
      )}
      {isToMany && others.length > 0 && (
        <PickList
          label="More nodes"
          items={others.map((candidate) => ({
            id: candidate.nodeId,
            label: visibleText(candidate.name),
            note: candidateNote(candidate, nodes?.get(candidate.nodeId)),
            whyNot: candidate.whyNot,
          }))}
          picked={new Set(choice.also)}
          onChange={(picked) => onChange((old) => ({ ...old, also: [...picked] }))}
        />
      )}
      <TextField
        label="Path"
        error={pathWrong}
        kind="code"
        value={targetPath}
        onChange={(value) => onChange((old) => ({ ...old, targetPath: value }))}
        onFocus={() => onHold(targetPath)}
        onBlur={() => onHold(null)}
      />
      <TargetOffers
        plan={plan}
        targetPath={targetPath}
        nodes={choice.also.length + 1}
        isOwn={usesOwnFolders(choice, plan)}
        onChange={(path) => onChange((old) => ({ ...old, targetPath: path }))}
      />
      {put !== null && (
        <Line label="Put there">
          <span className="min-w-0 break-all">
            {put.what} <b className="font-mono text-12 font-mid">{visibleText(put.name)}</b> in{" "}
            <span className="font-mono text-12 text-soft">{visibleText(put.folder)}</span>
          </span>
          <span className="ml-auto text-faint">{visibleText(put.note)}</span>
        </Line>
      )}
      <Line label="Files">
        <span className="nums">{fileWords(plan, choice)}</span>
        <Button size="small" onClick={() => onChange((old) => ({ ...old, files: old.files === null ? [] : null }))}>
          {choice.files === null ? "Choose files" : "All files"}
        </Button>
        <Button size="small" onClick={() => onChange((old) => ({ ...old, tensors: old.tensors === null ? "" : null }))}>
          {choice.tensors === null ? "Choose tensors" : "Whole files"}
        </Button>
        <span className="nums ml-auto text-soft">
          {isUpperBound ? "at most " : ""}
          {formatBytes(plan.chosen.bytes)}
        </span>
      </Line>
      {choice.files !== null && (
        <FileChoice
          checkpoint={checkpoint}
          files={choice.files}
          onChange={(files) => onChange((old) => ({ ...old, files }))}
        />
      )}
      {choice.tensors !== null && (
        <TensorChoice
          typed={choice.tensors}
          found={!areTensorsKnown ? null : plan.refusal === null ? plan.chosen : "refused"}
          onChange={(tensors) => onChange((old) => ({ ...old, tensors }))}
        />
      )}
      {checkpoint.damage === null && (
        <Line label="">
          <label className="flex items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={choice.mayFallBack}
              onChange={(event) => onChange((old) => ({ ...old, mayFallBack: event.target.checked }))}
            />
            If damaged, use the previous complete step
          </label>
        </Line>
      )}
      {plan.refusal !== null && (
        <div className="py-1.5 sm:pl-36">
          <Banner
            tone="lost"
            title={visibleText(wordsOf(plan.refusal).says)}
            action={
              plan.instead !== null && (
                <Button size="small" onClick={() => onInstead(plan.instead?.checkpointId ?? "")}>
                  Take step {formatCount(plan.instead.step)}
                </Button>
              )
            }
          />
        </div>
      )}
      <Checks plan={plan} node={node} also={chosenNodes(plan, null, choice.also)} />
    </>
  );
}

const countWords = (count: number, what: string): string => `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;

function fileWords({ chosen }: RestorePlan, { files, tensors }: RestoreChoice): string {
  if (tensors !== null) return chosen.tensors === null ? "tensors of them" : countWords(chosen.files, "file");
  const count = files?.length ?? chosen.files;
  if (count === 0) return "none chosen yet";
  return `${files === null ? "all " : ""}${formatCount(count)} ${count === 1 ? "file" : "files"}`;
}

/** A node is idle only where it neither moves anything nor watches a run. */
const doingWords = ({ busyWith, training }: RestoreCandidate): string[] => {
  const doing = [busyWith, training].filter((words) => words !== null);
  return doing.length === 0 ? ["idle"] : doing;
};

const candidateNote = (candidate: RestoreCandidate, node: NodeRow | undefined): string =>
  [
    node === undefined ? (candidate.gpu ?? "no GPU") : nodeFactsLine(node),
    ...doingWords(candidate),
    ...(candidate.from === null ? [] : [`reads ${candidate.from}`]),
  ]
    .map(visibleText)
    .join(" · ");

function Line({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="grid gap-x-4 gap-y-1 py-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
      <span className="pt-[7px] text-soft">{label}</span>
      <div className="flex min-h-[34px] min-w-0 flex-wrap items-center gap-x-2 gap-y-1 rounded-md border border-line bg-bg px-2.5 py-0.5">
        {children}
      </div>
    </div>
  );
}

interface ChecksProps {
  plan: RestorePlan;
  node: RestoreCandidate | undefined;
  also: readonly RestoreCandidate[];
}

function Checks({ plan, node, also }: ChecksProps) {
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
    // What a node wrote itself it runs anyway.
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
