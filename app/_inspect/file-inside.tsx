"use client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { useState } from "react";
import type { FileInspection, PlaceAsked } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { Copy } from "../_ui/controls/copy.tsx";
import { MoreRow } from "../_ui/tables/more-row.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { DtypeLine } from "./dtype-line.tsx";
import { formatWords, parameterWords, readWords } from "./inspect-words.ts";
import { LayerBars } from "./layer-bars.tsx";
import { LossCurvePanel } from "./loss-curve.tsx";
import { fileInsideQuery } from "./queries.ts";
import { TensorTable } from "./tensor-table.tsx";
import { Warnings } from "./warnings.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";

const TENSORS_AT_FIRST = 5_000;
const TENSORS_AT_MOST = 20_000;

interface FileInsideProps {
  place: PlaceAsked;
  path: string;
  /** Link to the list that the file was chosen from. */
  back: { href: string; label: string };
}

/** Inspects one file and shows its content. */
export function FileInside({ place, path, back }: FileInsideProps) {
  const [most, setMost] = useState(TENSORS_AT_FIRST);
  const inside = useQuery(fileInsideQuery(place, most));
  const { data } = inside;
  return (
    <>
      <Panel
        label="File"
        title={
          <span className="flex min-w-0 flex-wrap items-center gap-1 font-mono text-12 break-all">
            <Link href={back.href} className="font-sans text-13 font-normal text-soft hover:text-ink hover:underline">
              {back.label}
            </Link>
            <span className="text-faint">/</span>
            {visibleText(path)}
            <Copy text={path} label="Copy the path" />
          </span>
        }
      >
        {inside.isError ? (
          <div className="p-3">
            <FaultNote fault={faultOf(inside.error)} onRetry={() => void inside.refetch()} />
          </div>
        ) : data === undefined ? (
          <SkeletonRows rows={3} label="Looking inside" />
        ) : (
          <FileFacts found={data} />
        )}
      </Panel>
      {data !== undefined && data.path === path && (
        <>
          {data.curve !== null && data.curve.points.length > 0 && <LossCurvePanel curve={data.curve} />}
          {data.tree.children.length > 0 && <LayerBars tree={data.tree} />}
          {data.tensors.length > 0 && (
            <TensorTable
              tensors={data.tensors}
              omitted={data.tensorsOmitted}
              onMore={most < TENSORS_AT_MOST && data.tensorsOmitted > 0 ? () => setMost(TENSORS_AT_MOST) : null}
            />
          )}
          {data.metadata.length > 0 && <Metadata found={data} />}
          {data.preview !== null && (
            <Panel label="Text" title="Text" note={data.sizeBytes > 4096 ? "its first 4 KiB" : "all of it"}>
              <pre className="px-4 py-3 font-mono text-12 whitespace-pre-wrap [overflow-wrap:anywhere]">
                {data.preview}
              </pre>
            </Panel>
          )}
        </>
      )}
    </>
  );
}

function FileFacts({ found }: { found: FileInspection }) {
  return (
    <div className="flex flex-col gap-1.5 px-4 py-3">
      <p className="nums">
        <span className="font-mid">{formatWords(found.format)}</span>, {formatBytes(found.sizeBytes)}
        {found.tensors.length > 0 && (
          <>
            {" · "}
            {formatCount(found.tensors.length + found.tensorsOmitted)} tensors, {parameterWords(found.parameters)}{" "}
            {found.weights === found.parameters
              ? "parameters"
              : `values, ${parameterWords(found.weights)} of the model`}
            , {formatBytes(found.tensorBytes)}
          </>
        )}
        {found.framework !== null && ` · ${visibleText(found.framework)}`}
      </p>
      <DtypeLine dtypes={found.dtypes} />
      {found.names.length > 0 && (
        <p className="text-soft">
          Names {formatCount(found.names.length)} other {found.names.length === 1 ? "file" : "files"}:{" "}
          <span className="font-mono text-12 break-all">
            {found.names.slice(0, 5).map(visibleText).join(", ")}
            {found.names.length > 5 && " …"}
          </span>
        </p>
      )}
      <Warnings warnings={found.warnings} />
      {found.fault !== null && <FaultNote fault={found.fault} />}
      <p className="text-12 text-faint">{readWords(found)}</p>
    </div>
  );
}

const METADATA_AT_FIRST = 30;

function Metadata({ found }: { found: FileInspection }) {
  const [most, setMost] = useState(METADATA_AT_FIRST);
  return (
    <Panel label="Metadata" title="Metadata" note={<span className="nums">{formatCount(found.metadata.length)}</span>}>
      <dl className="divide-y divide-line">
        {found.metadata.slice(0, most).map(({ name, value }, row) => (
          <div
            key={`${row} ${name}`}
            className="grid gap-x-4 px-4 py-1.5 font-mono text-12 sm:grid-cols-[minmax(0,240px)_minmax(0,1fr)]"
          >
            <dt className="truncate text-soft" title={visibleText(name)}>
              {visibleText(name)}
            </dt>
            <dd className="min-w-0 break-all">{visibleText(value)}</dd>
          </div>
        ))}
      </dl>
      <MoreRow
        word={`Show all ${formatCount(found.metadata.length)}`}
        onMore={found.metadata.length > most ? () => setMost(found.metadata.length) : null}
      />
    </Panel>
  );
}
