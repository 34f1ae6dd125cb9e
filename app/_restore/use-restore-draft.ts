"use client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { restorePlanQuery } from "../_hub/queries/queries.ts";
import {
  askedChoice,
  chosenNodes,
  nothingChosen,
  pathWrong,
  patternsOf,
  patternsWrong,
  planned,
  type RestoreChoice,
  type RestoreRequest,
} from "./restore-choice.ts";

/** Holds the choices for a restore, queries its plan, and returns whether it can start. */
export function useRestoreDraft(request: RestoreRequest) {
  const [checkpointId, setCheckpointId] = useState(request.checkpointId);
  const [choice, setChoice] = useState<RestoreChoice>(nothingChosen(request.nodeId));
  const typed = useSettled(choice.tensors);
  const patterns = patternsWrong(typed) === undefined ? patternsOf(typed) : null;
  const plan = useQuery({
    ...restorePlanQuery(checkpointId ?? "", {
      nodeId: choice.nodeId,
      choice: askedChoice({ files: planned(choice.files), patterns }),
    }),
    enabled: checkpointId !== null,
    placeholderData: (old) => (old?.checkpoint.id === checkpointId ? old : undefined),
  });
  const nodeId = choice.nodeId ?? plan.data?.suggestedNodeId ?? null;
  // Path in the field while it has the focus, so that a new plan does not replace the text under the cursor.
  const [held, setHeld] = useState<string | null>(null);
  const targetPath = choice.targetPath ?? held ?? plan.data?.suggestedPath ?? "";
  const wrongPath = plan.data === undefined ? undefined : pathWrong(targetPath);
  const nodes = plan.data === undefined ? [] : chosenNodes(plan.data, nodeId, choice.also);
  const isFit = nodes.length > 0 && nodes.every((one) => one.whyNot === null);
  const areTensorsKnown =
    choice.tensors === null ||
    (typed === choice.tensors && patterns !== null && patterns.length > 0 && !plan.isPlaceholderData);
  const isChosen = plan.data?.refusal === null && (choice.files === null || choice.files.length > 0) && areTensorsKnown;
  return {
    checkpointId,
    choice,
    setChoice,
    /** Switches to another checkpoint and resets the choices. */
    takeCheckpoint: (id: string, forNode: string | null): void => {
      setCheckpointId(id);
      setChoice(nothingChosen(forNode));
    },
    plan,
    patterns,
    areTensorsKnown,
    nodeId,
    /** The node that the plan is for; `nodes` are all chosen ones. */
    node: plan.data?.candidates.find((candidate) => candidate.nodeId === nodeId),
    nodes,
    targetPath,
    wrongPath,
    setHeld,
    /** True when nothing is missing; the path may still be invalid. */
    isComplete: checkpointId !== null && isFit && isChosen,
  };
}

const SETTLED_MS = 300;

/** Returns the typed text after a pause in typing; null at once. */
function useSettled(typed: string | null): string | null {
  const [settled, setSettled] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return typed === null ? null : settled;
}
