"use client";
import { useQuery } from "@tanstack/react-query";
import Link from "next/link";
import { formatBytes, formatCount } from "#protocol/units.ts";
import type { CheckpointView } from "#protocol/views.ts";
import { DownloadButton } from "../../../_browser-transfers/download-button.tsx";
import { Age } from "../../../_hub/age.tsx";
import { FaultNote } from "../../../_hub/fault-note.tsx";
import { faultOf, isNotThere, notThere } from "../../../_hub/fault-of.ts";
import { useLiveTransfers } from "../../../_hub/live.tsx";
import { useWhyNot } from "../../../_hub/person.tsx";
import { checkpointQuery } from "../../../_hub/queries.ts";
import { useTitle } from "../../../_hub/title.ts";
import { TransferLine } from "../../../_hub/transfer-line.tsx";
import { KeepPanel } from "../../../_keeping/keep-panel.tsx";
import { checkpointState } from "../../../_runs/checkpoint-words.ts";
import { useDialogs } from "../../../_shell/dialogs.tsx";
import { PageHead } from "../../../_shell/page-head.tsx";
import { Button, ButtonLink } from "../../../_ui/button.tsx";
import { Panel } from "../../../_ui/panel.tsx";
import { Skeleton, SkeletonRows } from "../../../_ui/skeleton.tsx";
import { Tag } from "../../../_ui/tag.tsx";
import { visibleText } from "../../../_ui/visible-text.ts";
import { VerifyButton } from "../../../_verifying/verify-button.tsx";
import { VerifyPanel } from "../../../_verifying/verify-panel.tsx";
import { CheckpointFacts } from "./checkpoint-facts.tsx";
import { CheckpointParts } from "./checkpoint-parts.tsx";

export function CheckpointPageView({ id }: { id: string }) {
  const checkpoint = useQuery({
    ...checkpointQuery(id),
    refetchInterval: (query) => (query.state.data?.state === "uploading" ? 2000 : false),
  });
  const view = checkpoint.data;
  useTitle(view === undefined ? null : `${visibleText(view.run)} step ${formatCount(view.step)}`);
  if (view !== undefined) return <CheckpointBody view={view} />;
  if (checkpoint.isError)
    return (
      <FaultNote
        fault={notThere(faultOf(checkpoint.error), "checkpoint")}
        action={<ButtonLink href="/runs">All runs</ButtonLink>}
        {...(isNotThere(faultOf(checkpoint.error)) ? {} : { onRetry: () => void checkpoint.refetch() })}
      />
    );
  return (
    <output aria-label="Loading the checkpoint" className="flex flex-col gap-5">
      <Skeleton className="h-9 w-72" />
      <div className="h-40 rounded-2 border border-line bg-panel" />
      <div className="rounded-2 border border-line bg-panel">
        <SkeletonRows rows={6} />
      </div>
    </output>
  );
}

function CheckpointBody({ view }: { view: CheckpointView }) {
  const dialogs = useDialogs();
  const whyNot = useWhyNot("operator");
  const live = useLiveTransfers();
  const state = checkpointState(view);
  const restores = view.restores.map((row) => live?.get(row.id) ?? row);
  const known = new Set(restores.map((row) => row.id));
  for (const row of live?.values() ?? [])
    if (row.direction === "download" && row.checkpointId === view.id && !known.has(row.id)) restores.unshift(row);
  const notComplete = view.state === "complete" ? null : "Only a complete checkpoint can be restored.";
  return (
    <>
      <PageHead
        title={
          <>
            <Link href={`/runs/${encodeURIComponent(view.run)}`} className="hover:underline">
              {visibleText(view.run)}
            </Link>{" "}
            <span className="nums">step {formatCount(view.step)}</span>
          </>
        }
        tag={<Tag tone={state.tone}>{state.text}</Tag>}
        about={
          <span className="nums">
            {view.isNewest ? (view.adoption === null ? "newest complete · " : "newest · ") : ""}
            {formatCount(view.fileCount)} {view.fileCount === 1 ? "file" : "files"}, {formatBytes(view.sizeBytes)} ·{" "}
            {view.adoption === null ? (
              <>
                captured <Age at={view.capturedAt} /> on{" "}
                <Link href={`/nodes/${encodeURIComponent(view.nodeId)}`} className="font-mid text-ink hover:underline">
                  {visibleText(view.nodeName)}
                </Link>
              </>
            ) : (
              <>
                written <Age at={view.capturedAt} /> by another tool
              </>
            )}
            {view.framework !== null && ` · ${visibleText(view.framework)}`}
          </span>
        }
        actions={
          <>
            <VerifyButton view={view} />
            {view.state === "complete" && (
              <ButtonLink href={`/compare?to=${encodeURIComponent(view.id)}`}>Compare</ButtonLink>
            )}
            <DownloadButton
              size="usual"
              disabled={notComplete !== null}
              wanted={{ kind: "checkpoint", checkpointId: view.id, name: `${view.run}-step-${view.step}` }}
            />
            <Button
              look="main"
              disabled={notComplete !== null || whyNot !== null}
              title={notComplete ?? whyNot ?? undefined}
              onClick={() => dialogs.restore({ checkpointId: view.id, nodeId: null })}
            >
              Restore
            </Button>
          </>
        }
      />
      <CheckpointFacts view={view} />
      <KeepPanel row={view} />
      <VerifyPanel view={view} />
      {restores.length > 0 && (
        <Panel title="Restores">
          <ul className="divide-y divide-line">
            {restores.map((row) => (
              <TransferLine key={row.id} row={row} />
            ))}
          </ul>
        </Panel>
      )}
      <CheckpointParts view={view} />
    </>
  );
}
