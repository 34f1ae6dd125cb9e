"use client";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { NodeRow, RestoreCandidate, RestorePlan } from "#protocol/wire/views.ts";
import { Field } from "../_forms/field.tsx";
import { useNodes } from "../_hub/live/live.tsx";
import { nodeFactsLine } from "../_nodes/node-filter.ts";
import { Select } from "../_ui/controls/select.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { FormLine } from "./form-line.tsx";
import { PickList } from "./pick-list.tsx";
import type { RestoreChoice } from "./restore-choice.ts";

interface NodeChoiceProps {
  plan: RestorePlan;
  /** The node that the plan is for. */
  nodeId: string | null;
  choice: RestoreChoice;
  onChange: (change: (old: RestoreChoice) => RestoreChoice) => void;
}

/** Asks for the node to restore to, and for further ones. */
export function NodeChoice({ plan, nodeId, choice, onChange }: NodeChoiceProps) {
  const [isToMany, setToMany] = useState(choice.also.length > 0);
  const nodes = useNodes();
  const others = plan.candidates.filter((candidate) => candidate.nodeId !== nodeId);
  return (
    <>
      <Field label="To" hint={fitWords(plan)}>
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
                // The training folder of one node does not apply to another.
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
        <FormLine label="">
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
        </FormLine>
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
    </>
  );
}

function fitWords({ candidates }: RestorePlan): string | undefined {
  if (candidates.length === 0) return "No node is known. Add one first.";
  const fitting = candidates.filter(({ whyNot }) => whyNot === null).length;
  if (fitting === 0) return "No node can take it now; the list says why.";
  return fitting > 1 ? `${formatCount(fitting)} nodes have enough space` : undefined;
}

/** Returns the activity of a node: its transfer and its run, or idle. */
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
