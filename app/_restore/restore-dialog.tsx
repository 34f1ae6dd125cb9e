"use client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { formatCount } from "#protocol/units.ts";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { faultOf } from "../_hub/fault-of.ts";
import { useLiveTransfer } from "../_hub/live.tsx";
import { useWhyNot } from "../_hub/person.tsx";
import { restorePlanQuery, runsQuery } from "../_hub/queries.ts";
import { isEnded } from "../_hub/transfer-words.ts";
import { newRequestId, useAction } from "../_hub/use-action.ts";
import type { RestoreRequest } from "../_shell/dialogs.tsx";
import { Button, Key } from "../_ui/button.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { Field } from "../_ui/field.tsx";
import { Empty } from "../_ui/panel.tsx";
import { Select } from "../_ui/select.tsx";
import { Skeleton } from "../_ui/skeleton.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { RestoreForm, type RestoreChoice } from "./restore-form.tsx";
import { RestoreProgress } from "./restore-progress.tsx";

/** Restore, filled in on arrival: one Enter starts it. It goes on at the node; the page may be closed. */
export function RestoreDialog({ request, onClose }: { request: RestoreRequest; onClose: () => void }) {
  const [checkpointId, setCheckpointId] = useState(request.checkpointId);
  const [choice, setChoice] = useState<RestoreChoice>({ nodeId: request.nodeId, targetPath: null });
  const plan = useQuery({
    ...restorePlanQuery(checkpointId ?? "", choice.nodeId),
    enabled: checkpointId !== null,
    placeholderData: (old) => (old?.checkpoint.id === checkpointId ? old : undefined),
  });
  const [requestId] = useState(newRequestId);
  const start = useAction((input: { checkpointId: string; nodeId: string; targetPath: string }) =>
    hub.restores.create.mutate({ requestId, ...input }),
  );
  const whyNot = useWhyNot("operator");
  const transferId = start.result?.transferId ?? null;
  const transfer = useLiveTransfer(transferId);
  const running = transfer === null || !isEnded(transfer.state);
  const nodeId = choice.nodeId ?? plan.data?.suggestedNodeId ?? null;
  const node = plan.data?.candidates.find((candidate) => candidate.nodeId === nodeId);
  const targetPath = choice.targetPath ?? plan.data?.suggestedPath ?? "";
  const pathWrong =
    plan.data === undefined ||
    (targetPath.startsWith("/") && targetPath.length > 1 && !targetPath.split("/").includes(".."))
      ? undefined
      : "an absolute folder on the node, without '..'";
  const ready =
    checkpointId !== null && node !== undefined && node.whyNot === null && pathWrong === undefined && whyNot === null;
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
      : `Restore ${visibleText(plan.data.checkpoint.run)} step ${formatCount(plan.data.checkpoint.step)}`;

  if (transferId !== null && plan.data !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={title}
        footer={
          <>
            <span className="min-w-0 flex-1 text-soft">
              {running && `Runs on ${visibleText(node?.name ?? "the node")}. You can close this page.`}
            </span>
            <Button onClick={onClose}>Close</Button>
          </>
        }
      >
        <RestoreProgress
          transferId={transferId}
          checkpoint={plan.data.checkpoint}
          nodeName={node?.name ?? "the node"}
          targetPath={targetPath}
        />
      </Dialog>
    );

  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      footer={
        <>
          <span className="min-w-0 flex-1 basis-full text-soft sm:basis-auto">
            {whyNot ?? (node === undefined ? "" : `Runs on ${visibleText(node.name)}. You can close this page.`)}
          </span>
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
          if (checkpointId !== null && node !== undefined && ready)
            start.run({ checkpointId, nodeId: node.nodeId, targetPath });
        }}
      >
        {request.checkpointId === null && (
          <RunChoice
            value={checkpointId}
            onChange={(id) => {
              setCheckpointId(id);
              setChoice({ nodeId: request.nodeId, targetPath: null });
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
            pathWrong={pathWrong}
            onChange={setChoice}
          />
        )}
        {start.fault !== null && (
          <div className="pt-3">
            <FaultNote fault={start.fault} />
          </div>
        )}
      </form>
    </Dialog>
  );
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
