"use client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { RestoreCandidate } from "#protocol/wire/views.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useLiveTransfer } from "../_hub/live/live.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { restorePlanQuery, runsQuery } from "../_hub/queries/queries.ts";
import { isEnded } from "../_hub/transfers/transfer-words.ts";
import { newRequestId, useAction } from "../_hub/actions/use-action.ts";
import { Button, Key } from "../_ui/controls/button.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Field } from "../_forms/field.tsx";
import { Empty } from "../_ui/layout/panel.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ManyProgress } from "./many-progress.tsx";
import {
  askedChoice,
  chosenNodes,
  nothingChosen,
  pathWrong,
  patternsOf,
  patternsWrong,
  planned,
  usesOwnFolders,
  type AskedChoice,
  type RestoreChoice,
  type RestoreRequest,
} from "./restore-choice.ts";
import { RestoreForm } from "./restore-form.tsx";
import { RestoreProgress } from "./restore-progress.tsx";
import { TryIt } from "./try-it.tsx";

/** Restore, filled in on arrival: one Enter starts it. It goes on at the node; the page may be closed. */
export function RestoreDialog({ request, onClose }: { request: RestoreRequest; onClose: () => void }) {
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
  const [requestId] = useState(newRequestId);
  const start = useAction((input: Omit<StartInput, "requestId">) => hub.restores.start.mutate({ requestId, ...input }));
  const whyNot = useWhyNot("operator");
  const started = start.result?.restores ?? [];
  const only = started.length === 1 ? started[0] : undefined;
  const transferId = only?.transferId ?? null;
  const transfer = useLiveTransfer(transferId);
  const running = transfer === null || !isEnded(transfer.state);
  const nodeId = choice.nodeId ?? plan.data?.suggestedNodeId ?? null;
  const node = plan.data?.candidates.find((candidate) => candidate.nodeId === nodeId);
  // What somebody has the cursor in is not exchanged under it when the plan of another node arrives.
  const [held, setHeld] = useState<string | null>(null);
  const targetPath = choice.targetPath ?? held ?? plan.data?.suggestedPath ?? "";
  const wrongPath = plan.data === undefined ? undefined : pathWrong(targetPath);
  const nodes = plan.data === undefined ? [] : chosenNodes(plan.data, nodeId, choice.also);
  const isFit = nodes.length > 0 && nodes.every((one) => one.whyNot === null);
  const areTensorsKnown =
    choice.tensors === null ||
    (typed === choice.tensors && patterns !== null && patterns.length > 0 && !plan.isPlaceholderData);
  const isChosen = plan.data?.refusal === null && (choice.files === null || choice.files.length > 0) && areTensorsKnown;
  const ready = checkpointId !== null && isFit && isChosen && wrongPath === undefined && whyNot === null;
  // One Enter restores: the button takes the focus once, as soon as the plan says that it can be pressed.
  const submit = useRef<HTMLButtonElement>(null);
  const offered = useRef(false);
  useEffect(() => {
    if (!ready || offered.current) return;
    offered.current = true;
    submit.current?.focus();
  }, [ready]);
  const title =
    plan.data === undefined
      ? "Restore"
      : plan.data.checkpoint.role === "final-model"
        ? `Restore the final model of ${visibleText(plan.data.checkpoint.run)}`
        : `Restore ${visibleText(plan.data.checkpoint.run)} step ${formatCount(plan.data.checkpoint.step)}`;

  if (plan.data !== undefined && (started.length > 1 || transferId !== null)) {
    const where = started.length > 1 ? "the nodes" : visibleText(node?.name ?? "the node");
    return (
      <Dialog
        open
        onClose={onClose}
        title={title}
        footer={
          <>
            <span className="min-w-0 flex-1 text-soft">
              {(started.length > 1 || running) && `Runs on ${where}. You can close this page.`}
            </span>
            <Button onClick={onClose}>Close</Button>
          </>
        }
      >
        {transferId === null ? (
          <ManyProgress restores={started} checkpoint={plan.data.checkpoint} queue={plan.data.queue} />
        ) : (
          <RestoreProgress
            transferId={transferId}
            checkpoint={plan.data.checkpoint}
            nodeName={node?.name ?? "the node"}
            targetPath={targetPath}
            chosen={plan.data.chosen}
          />
        )}
      </Dialog>
    );
  }

  const fault = start.fault ?? only?.fault ?? null;
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      footer={
        <>
          <span className="min-w-0 flex-1 basis-full text-soft sm:basis-auto">{whyNot ?? whereWords(nodes)}</span>
          <Button ref={submit} type="submit" form="restore" look="main" disabled={!ready || start.busy}>
            {start.busy ? "Starting" : "Restore"} <Key look="inside">↵</Key>
          </Button>
        </>
      }
    >
      <form
        id="restore"
        aria-label="Restore"
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready || start.busy) return;
          const { mayFallBack } = choice;
          const nodeIds = nodes.map((one) => one.nodeId);
          start.run({
            checkpointId,
            nodeIds,
            ...(plan.data !== undefined && usesOwnFolders(choice, plan.data) ? {} : { targetPath }),
            mayFallBack,
            choice: askedChoice({ files: choice.files, patterns }),
          });
        }}
      >
        {request.checkpointId === null && (
          <RunChoice
            value={checkpointId}
            onChange={(id) => {
              setCheckpointId(id);
              setChoice(nothingChosen(request.nodeId));
            }}
          />
        )}
        {plan.isError && plan.data === undefined ? (
          <FaultNote fault={faultOf(plan.error)} onRetry={() => void plan.refetch()} />
        ) : plan.data === undefined ? (
          checkpointId !== null && <PlanSkeleton />
        ) : (
          <RestoreForm
            plan={plan.data}
            nodeId={nodeId}
            targetPath={targetPath}
            pathWrong={wrongPath}
            choice={choice}
            areTensorsKnown={areTensorsKnown}
            onChange={setChoice}
            onHold={setHeld}
            onInstead={(id) => {
              setCheckpointId(id);
              setChoice(nothingChosen(choice.nodeId));
            }}
          />
        )}
        {fault !== null && (
          <div className="pt-3">
            <FaultNote fault={fault} />
          </div>
        )}
      </form>
      {checkpointId !== null && node !== undefined && nodes.length === 1 && (
        <TryIt
          key={`${checkpointId} ${node.nodeId} ${targetPath} ${choice.files?.join() ?? ""} ${choice.tensors ?? ""}`}
          checkpointId={checkpointId}
          nodeId={node.nodeId}
          nodeName={node.name}
          targetPath={targetPath}
          choice={askedChoice({ files: choice.files, patterns })}
          disabled={!ready}
        />
      )}
    </Dialog>
  );
}

interface StartInput {
  requestId: string;
  checkpointId: string;
  nodeIds: string[];
  targetPath?: string;
  mayFallBack: boolean;
  choice: AskedChoice;
}

const SETTLED_MS = 300;

/** What was typed, once nobody types any more; what was not typed, at once. */
function useSettled(typed: string | null): string | null {
  const [settled, setSettled] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return typed === null ? null : settled;
}

function whereWords(nodes: readonly RestoreCandidate[]): string {
  const [first] = nodes;
  if (first === undefined) return "";
  const where = nodes.length === 1 ? visibleText(first.name) : `${formatCount(nodes.length)} nodes`;
  return `Runs on ${where}. You can close this page.`;
}

/** When it begins at a node: which run. The newest one that has a complete checkpoint comes first. */
function RunChoice({ value, onChange }: { value: string | null; onChange: (checkpointId: string) => void }) {
  const runs = useQuery(runsQuery());
  if (runs.isError && runs.data === undefined)
    return <FaultNote fault={faultOf(runs.error)} onRetry={() => void runs.refetch()} />;
  if (runs.data === undefined) return <Skeleton className="h-9 w-full" />;
  const complete = runs.data
    .filter((run) => run.newestCheckpointId !== null)
    .sort((a, b) => (b.newestAt ?? 0) - (a.newestAt ?? 0));
  if (complete.length === 0) return <Empty title="Nothing to restore yet">No run has a complete checkpoint.</Empty>;
  return (
    <Field label="Run">
      {(ids) => (
        <Select
          {...ids}
          label="Run"
          value={value}
          placeholder="Choose a run"
          onChange={onChange}
          choices={complete.map((run) => ({
            value: run.newestCheckpointId ?? "",
            label: visibleText(run.name),
            note: `step ${formatCount(run.newestStep ?? 0)}, newest complete`,
          }))}
        />
      )}
    </Field>
  );
}

const PlanSkeleton = () => (
  <output aria-label="Making a plan" className="flex flex-col gap-3 py-2">
    {[0, 1, 2, 3].map((row) => (
      <Skeleton key={row} className="h-8 w-full" />
    ))}
  </output>
);
