"use client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../../../_ui/navigation/link.tsx";
import { stepWords, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { PageFault } from "../../../_hub/faults/page-fault.tsx";
import { DownloadButton } from "../../../_browser-transfers/downloads/download-button.tsx";
import { Age } from "../../../_hub/live/age.tsx";
import { useLiveTransfers, useNode } from "../../../_hub/live/live.tsx";
import { useWhyNot } from "../../../_hub/session/person.tsx";
import { checkpointQuery } from "../../../_hub/queries/queries.ts";
import { useTitle } from "../../../_hub/address/title.ts";
import { KeepPanel } from "../../../_retention/keep-panel.tsx";
import { checkpointNote, checkpointState } from "../../../_runs/checkpoint-words.ts";
import { useDialogs } from "../../../_shell/dialogs.tsx";
import { PageHead } from "../../../_shell/page-head.tsx";
import { Button, ButtonLink } from "../../../_ui/controls/button.tsx";
import { onDemand, onItsWay } from "../../../_ui/loading/on-demand.tsx";
import { Panel } from "../../../_ui/layout/panel.tsx";
import { Skeleton, SkeletonRows } from "../../../_ui/loading/skeleton.tsx";
import { Tag } from "../../../_ui/indicators/tag.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { VerifyButton } from "../../../_verifying/verify-button.tsx";
import { formatBytes } from "../../../_ui/text/sizes.ts";
import { CheckpointFacts } from "./checkpoint-facts.tsx";

const VerifyPanel = onItsWay(() => import("../../../_verifying/verify-panel.tsx").then((module) => module.VerifyPanel));
const CopiesPanel = onItsWay(() => import("../../../_homes/copies-panel.tsx").then((module) => module.CopiesPanel));
const TransferLine = onDemand(() =>
  import("../../../_hub/transfers/transfer-line.tsx").then((module) => module.TransferLine),
);
const CheckpointParts = onItsWay(
  () => import("./checkpoint-parts.tsx").then((module) => module.CheckpointParts),
  () => (
    <Panel label="Files">
      <SkeletonRows rows={6} label="Loading the files" />
    </Panel>
  ),
);

export function CheckpointPageView({ id }: { id: string }) {
  const checkpoint = useQuery({
    ...checkpointQuery(id),
    refetchInterval: (query) => (query.state.data?.state === "uploading" ? 2000 : false),
  });
  const view = checkpoint.data;
  useTitle(view === undefined ? null : `${visibleText(view.run)} ${stepWords(view.step, stepSourceOf(view.place))}`);
  if (view !== undefined) return <CheckpointBody view={view} />;
  if (checkpoint.isError)
    return <PageFault query={checkpoint} thing="checkpoint" wayOut={<ButtonLink href="/runs">All runs</ButtonLink>} />;
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
  const state = checkpointState(view, useNode(view.nodeId)?.state ?? null);
  const note = checkpointNote(view);
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
            <span className="nums">
              {view.role === "final-model" ? "final model at " : ""}
              {stepWords(view.step, stepSourceOf(view.place))}
            </span>
          </>
        }
        tag={
          <>
            <Tag tone={state.tone}>{state.text}</Tag>
            {view.sealed !== null && (
              <Tag tone={view.sealed.isKeyHere ? "quiet" : "lost"}>
                {view.sealed.isKeyHere ? "encrypted" : "encrypted, key missing"}
              </Tag>
            )}
          </>
        }
        about={
          <span className="nums">
            {view.isNewest && view.adoption === null ? "newest complete · " : note === null ? "" : `${note} · `}
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
            {/* Browsers would get encrypted bytes, so encrypted checkpoints have no download. */}
            {view.sealed === null && (
              <DownloadButton
                size="usual"
                disabled={notComplete !== null}
                wanted={{ kind: "checkpoint", checkpointId: view.id, name: `${view.run}-step-${view.step}` }}
              />
            )}
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
      <CopiesPanel view={view} />
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
