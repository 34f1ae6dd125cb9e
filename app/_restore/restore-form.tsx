"use client";
import { shownStep, stepSourceOf, stepWords } from "#protocol/checkpoint/step-words.ts";
import type { RestorePlan } from "#protocol/wire/views.ts";
import { TextField } from "../_forms/text-field.tsx";
import { wordsOf } from "../_hub/faults/fault-of.ts";
import { checkpointNote } from "../_runs/checkpoint-words.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { VerifiedNote } from "../_verifying/verified-note.tsx";
import { ContentChoice } from "./content-choice.tsx";
import { FormLine } from "./form-line.tsx";
import { NodeChoice } from "./node-choice.tsx";
import { PlanChecks } from "./plan-checks.tsx";
import { chosenNodes, putWhere, usesOwnFolders, type RestoreChoice } from "./restore-choice.ts";
import { TargetOffers } from "./target-offers.tsx";

interface RestoreFormProps {
  plan: RestorePlan;
  nodeId: string | null;
  targetPath: string;
  choice: RestoreChoice;
  /** Whether the plan matches the typed tensor patterns. */
  areTensorsKnown: boolean;
  /** Called with another checkpoint to restore instead of a damaged one. */
  onInstead: (checkpointId: string) => void;
  onChange: (change: (old: RestoreChoice) => RestoreChoice) => void;
  /** Called with the path that stays while its field has the focus; null allows a new suggestion. */
  onHold: (path: string | null) => void;
}

/** Shows the lines of a restore (step, node, path, files) and the checks of the plan. */
export function RestoreForm({
  plan,
  nodeId,
  targetPath,
  choice,
  areTensorsKnown,
  onChange,
  onInstead,
  onHold,
}: RestoreFormProps) {
  const { checkpoint } = plan;
  const node = plan.candidates.find((candidate) => candidate.nodeId === nodeId);
  const put = putWhere(plan, targetPath);
  return (
    <>
      <FormLine label="Step">
        <b className="nums font-mid">{shownStep(checkpoint.step, stepSourceOf(checkpoint.place))}</b>
        {checkpoint.damage === null ? <Tag tone="safe">complete</Tag> : <Tag tone="lost">damaged</Tag>}
        <VerifiedNote row={checkpoint} />
        <span className="ml-auto truncate text-faint">
          {plan.isNewest ? "newest complete" : (checkpointNote(checkpoint) ?? "an older step")}
        </span>
      </FormLine>
      <NodeChoice plan={plan} nodeId={nodeId} choice={choice} onChange={onChange} />
      <TextField
        label="Path"
        path="targetPath"
        required
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
        <FormLine label="Put there">
          <span className="min-w-0 break-all">
            {put.what} <b className="font-mono text-12 font-mid">{visibleText(put.name)}</b> in{" "}
            <span className="font-mono text-12 text-soft">{visibleText(put.folder)}</span>
          </span>
          <span className="ml-auto text-faint">{visibleText(put.note)}</span>
        </FormLine>
      )}
      <ContentChoice plan={plan} choice={choice} areTensorsKnown={areTensorsKnown} onChange={onChange} />
      {checkpoint.damage === null && (
        <FormLine label="">
          <label className="flex items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={choice.mayFallBack}
              onChange={(event) => onChange((old) => ({ ...old, mayFallBack: event.target.checked }))}
            />
            If damaged, use the previous complete step
          </label>
        </FormLine>
      )}
      {plan.refusal !== null && (
        <div className="py-1.5 sm:pl-36">
          <Banner
            tone="lost"
            title={visibleText(wordsOf(plan.refusal).says)}
            action={
              plan.instead !== null && (
                <Button size="small" onClick={() => onInstead(plan.instead?.checkpointId ?? "")}>
                  Take {stepWords(plan.instead.step)}
                </Button>
              )
            }
          />
        </div>
      )}
      <PlanChecks plan={plan} node={node} also={chosenNodes(plan, null, choice.also)} />
    </>
  );
}
