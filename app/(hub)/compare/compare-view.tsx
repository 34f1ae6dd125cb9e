"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../../_ui/navigation/link.tsx";
import { useSearchParams } from "next/navigation";
import { formatCount } from "#protocol/base/units.ts";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { useAddressWords } from "../../_hub/address/address.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { faultOf, notThere } from "../../_hub/faults/fault-of.ts";
import { checkpointQuery } from "../../_hub/queries/queries.ts";
import { useTitle } from "../../_hub/address/title.ts";
import { compareQuery, stepsQuery } from "../../_inspect/queries.ts";
import { StepChoice } from "../../_inspect/step-choice.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button, ButtonLink } from "../../_ui/controls/button.tsx";
import { Empty, Panel } from "../../_ui/layout/panel.tsx";
import { onItsWay } from "../../_ui/loading/on-demand.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

const ComparedPanel = onItsWay(
  () => import("../../_inspect/compared-panel.tsx").then((module) => module.ComparedPanel),
  () => (
    <Panel label="Result">
      <SkeletonRows rows={6} label="Looking into both" />
    </Panel>
  ),
);

const nameOf = ({ run, step }: Pick<CheckpointView, "run" | "step">): string =>
  `${visibleText(run)} ${stepWords(step)}`;

/** Compares two checkpoints, which are kept in the address. With only the later one given, the step before it is used. */
export function CompareView() {
  const params = useSearchParams();
  const setWords = useAddressWords();
  const toId = params.get("to") ?? "";
  const to = useQuery({ ...checkpointQuery(toId), enabled: toId !== "" });
  const steps = useQuery({ ...stepsQuery(to.data?.run ?? ""), enabled: to.data !== undefined });
  const at = steps.data?.rows.findIndex(({ id }) => id === toId) ?? -1;
  const fromId = params.get("from") ?? steps.data?.rows[at + 1]?.id ?? "";
  const from = useQuery({ ...checkpointQuery(fromId), enabled: fromId !== "" });
  const choose = (ids: { from: string; to: string }) =>
    setWords(Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== "")));
  const isReady = from.data?.state === "complete" && to.data?.state === "complete" && fromId !== toId;
  const compared = useQuery({ ...compareQuery(fromId, toId), enabled: isReady });
  useTitle(from.data === undefined || to.data === undefined ? null : `${nameOf(from.data)} and ${nameOf(to.data)}`);
  const missing = [from, to].find((query) => query.isError);
  return (
    <>
      <PageHead
        title="Compare"
        about="Tensor by tensor, by names, shapes and checksums that are recorded anyway: no byte of a tensor is read."
        actions={
          fromId !== "" && toId !== "" ? (
            <Button onClick={() => choose({ from: toId, to: fromId })}>Swap</Button>
          ) : undefined
        }
      />
      <div className="grid gap-5 md:grid-cols-2">
        <Side title="From" view={from.data} onChoose={(id) => choose({ from: id, to: toId })} />
        <Side title="To" view={to.data} onChoose={(id) => choose({ from: fromId, to: id })} />
      </div>
      {missing !== undefined ? (
        <FaultNote
          fault={notThere(faultOf(missing.error), "checkpoint")}
          action={<ButtonLink href="/runs">All runs</ButtonLink>}
        />
      ) : fromId !== "" && fromId === toId ? (
        <Panel label="Result">
          <Empty title="The same checkpoint twice">Choose another step on one side.</Empty>
        </Panel>
      ) : !isReady ? (
        <Panel label="Result">
          {toId !== "" && (steps.isPending || (fromId !== "" && from.isPending)) ? (
            <SkeletonRows rows={3} />
          ) : (
            <Empty title="Two complete checkpoints are compared">
              {toId === "" || fromId !== ""
                ? "Choose a run and a step on either side."
                : "This run has no earlier complete step; choose any other checkpoint."}
            </Empty>
          )}
        </Panel>
      ) : compared.isError ? (
        <FaultNote fault={faultOf(compared.error)} onRetry={() => void compared.refetch()} />
      ) : compared.data === undefined ? (
        <Panel label="Result">
          <SkeletonRows rows={6} label="Looking into both" />
        </Panel>
      ) : (
        <ComparedPanel data={compared.data} />
      )}
    </>
  );
}

interface SideProps {
  title: string;
  view: CheckpointView | undefined;
  onChoose: (checkpointId: string) => void;
}

function Side({ title, view, onChoose }: SideProps) {
  return (
    <Panel label={title} title={title} note={view === undefined ? "nothing chosen" : undefined}>
      <div className="flex flex-col gap-2 px-4 py-3">
        <StepChoice label={title} chosen={view} onChoose={onChoose} />
        {view !== undefined && (
          <p className="nums text-12 text-soft">
            <Link href={`/checkpoints/${encodeURIComponent(view.id)}`} className="font-mid text-ink hover:underline">
              {nameOf(view)}
            </Link>
            {` · epoch ${view.writerEpoch} · ${formatCount(view.fileCount)} ${view.fileCount === 1 ? "file" : "files"}, ${formatBytes(view.sizeBytes)}`}
            {view.state !== "complete" && " · not complete: it cannot be looked into"}
          </p>
        )}
      </div>
    </Panel>
  );
}
