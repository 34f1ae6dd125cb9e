"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { RestoreCandidate, RestorePlan } from "#protocol/wire/views.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { newRequestId, useAction } from "../_hub/actions/use-action.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { hub } from "../_hub/queries/client.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button, Key } from "../_ui/controls/button.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { askedChoice, usesOwnFolders, type AskedChoice, type RestoreRequest } from "./restore-choice.ts";
import { RestoreForm } from "./restore-form.tsx";
import { RunChoice } from "./run-choice.tsx";
import { StartedRestore } from "./started-restore.tsx";
import { TryIt } from "./try-it.tsx";
import { useFocusOnce } from "./use-focus-once.ts";
import { useRestoreDraft } from "./use-restore-draft.ts";

/**
 * Shows a restore dialog with all fields filled in, so that Enter starts the restore. The node restores by itself; the
 * page may be closed.
 */
export function RestoreDialog({ request, onClose }: { request: RestoreRequest; onClose: () => void }) {
  const draft = useRestoreDraft(request);
  const { checkpointId, choice, plan, nodes, node, targetPath, patterns } = draft;
  const [requestId] = useState(newRequestId);
  const start = useAction((input: Omit<StartInput, "requestId">) => hub.restores.start.mutate({ requestId, ...input }));
  const whyNot = useWhyNot("operator");
  const started = start.result?.restores ?? [];
  const only = started.length === 1 ? started[0] : undefined;
  const ready = draft.isComplete && whyNot === null;
  const submit = useFocusOnce(ready);

  if (plan.data !== undefined && (started.length > 1 || (only?.transferId ?? null) !== null))
    return (
      <StartedRestore
        title={titleOf(plan.data)}
        plan={plan.data}
        started={started}
        nodeName={node?.name}
        targetPath={targetPath}
        onClose={onClose}
      />
    );

  // With a single node, its refusal is shown as the fault of the form.
  const refused = { fault: only?.fault ?? null, reset: start.reset };
  const send = (): void => {
    if (!ready || start.busy || checkpointId === null) return;
    start.run({
      checkpointId,
      nodeIds: nodes.map((one) => one.nodeId),
      ...(plan.data !== undefined && usesOwnFolders(choice, plan.data) ? {} : { targetPath }),
      mayFallBack: choice.mayFallBack,
      choice: askedChoice({ files: choice.files, patterns }),
    });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={titleOf(plan.data)}
      footer={
        <>
          <span className="min-w-0 flex-1 basis-full text-soft sm:basis-auto">{whyNot ?? whereWords(nodes)}</span>
          <Button ref={submit} type="submit" form="restore" look="main" disabled={!ready || start.busy}>
            {start.busy ? "Starting" : "Restore"} <Key look="inside">↵</Key>
          </Button>
        </>
      }
    >
      <Form
        id="restore"
        label="Restore"
        errors={{ targetPath: draft.wrongPath }}
        actions={[start, refused]}
        onSubmit={send}
      >
        {request.checkpointId === null && (
          <RunChoice value={checkpointId} onChange={(id) => draft.takeCheckpoint(id, request.nodeId)} />
        )}
        {plan.isError && plan.data === undefined ? (
          <FaultNote fault={faultOf(plan.error)} onRetry={() => void plan.refetch()} />
        ) : plan.data === undefined ? (
          checkpointId !== null && <PlanSkeleton />
        ) : (
          <RestoreForm
            plan={plan.data}
            nodeId={draft.nodeId}
            targetPath={targetPath}
            choice={choice}
            areTensorsKnown={draft.areTensorsKnown}
            onChange={draft.setChoice}
            onHold={draft.setHeld}
            onInstead={(id) => draft.takeCheckpoint(id, choice.nodeId)}
          />
        )}
        <FormFault />
      </Form>
      {checkpointId !== null && node !== undefined && nodes.length === 1 && (
        <TryIt
          key={`${checkpointId} ${node.nodeId} ${targetPath} ${choice.files?.join() ?? ""} ${choice.tensors ?? ""}`}
          checkpointId={checkpointId}
          nodeId={node.nodeId}
          nodeName={node.name}
          targetPath={targetPath}
          choice={askedChoice({ files: choice.files, patterns })}
          disabled={!ready || draft.wrongPath !== undefined}
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

function titleOf(plan: RestorePlan | undefined): string {
  if (plan === undefined) return "Restore";
  const { role, run, step } = plan.checkpoint;
  return role === "final-model"
    ? `Restore the final model of ${visibleText(run)}`
    : `Restore ${visibleText(run)} ${stepWords(step)}`;
}

function whereWords(nodes: readonly RestoreCandidate[]): string {
  const [first] = nodes;
  if (first === undefined) return "";
  const where = nodes.length === 1 ? visibleText(first.name) : `${formatCount(nodes.length)} nodes`;
  return `Runs on ${where}. You can close this page.`;
}

const PlanSkeleton = () => (
  <output aria-label="Making a plan" className="flex flex-col gap-3 py-2">
    {[0, 1, 2, 3].map((row) => (
      <Skeleton key={row} className="h-8 w-full" />
    ))}
  </output>
);
