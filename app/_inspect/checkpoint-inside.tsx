"use client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { usePathname } from "next/navigation";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import type { CheckpointInspection } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { Panel } from "../_ui/layout/panel.tsx";
import { Skeleton, SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { DtypeLine } from "./dtype-line.tsx";
import { formatWords, parameterWords } from "./inspect-words.ts";
import { LayerBars } from "./layer-bars.tsx";
import { LossCurvePanel } from "./loss-curve.tsx";
import { checkpointInsideQuery } from "./queries.ts";
import { Warnings } from "./warnings.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Summarizes all files of a checkpoint: tensors, sizes and the training log. */
export function CheckpointInside({ checkpointId }: { checkpointId: string }) {
  const inside = useQuery(checkpointInsideQuery(checkpointId));
  if (inside.isError) return <FaultNote fault={faultOf(inside.error)} onRetry={() => void inside.refetch()} />;
  if (inside.data === undefined)
    return (
      <output aria-label="Looking inside the checkpoint" className="flex flex-col gap-5">
        <div className="rounded-2 border border-line bg-panel p-4">
          <Skeleton className="h-6 w-64" />
        </div>
        <div className="rounded-2 border border-line bg-panel">
          <SkeletonRows rows={5} />
        </div>
      </output>
    );
  const { data } = inside;
  const hasTensors = data.tree.tensors > 0;
  return (
    <>
      <Panel label="Contents" title="Contents">
        <div className="flex flex-col gap-1.5 px-4 py-3">
          {hasTensors ? (
            <p className="nums">
              <span className="font-mid">{parameterWords(data.weights)} parameters</span>
              {data.parameters > data.weights &&
                ` and ${parameterWords(data.parameters - data.weights)} values of optimizer and other state`}
              {` · ${formatCount(data.tree.tensors)} tensors, ${formatBytes(data.tensorBytes)}`}
              {data.framework !== null && ` · ${visibleText(data.framework)}`}
            </p>
          ) : (
            <p className="text-soft">No tensors were found in its files.</p>
          )}
          <DtypeLine dtypes={data.dtypes} />
          <Warnings warnings={data.warnings} />
          <FilesSaid data={data} />
          <p className="text-12 text-faint">
            Of each file the hub reads at most {formatBytes(INSPECT_LIMITS.readBytes)}, for what describes it: tensors
            are not loaded, and pickles are never unpickled.
          </p>
        </div>
      </Panel>
      {data.curve !== null && data.curve.points.length > 0 && <LossCurvePanel curve={data.curve} />}
      {data.tree.children.length > 0 && <LayerBars tree={data.tree} />}
    </>
  );
}

/** Lists files that could not be read completely, then files with tensors. */
function FilesSaid({ data }: { data: CheckpointInspection }) {
  const path = usePathname();
  const faulty = data.files.filter(({ fault }) => fault !== null);
  const telling = data.files.filter(({ fault, tensors }) => fault === null && tensors > 0);
  return (
    <>
      <ul aria-label="Files with tensors" className="nums flex flex-col gap-0.5 text-soft">
        {[...faulty, ...telling].slice(0, 24).map((file) => (
          <li key={file.path} className="flex flex-wrap items-baseline gap-x-2">
            <Link
              href={`${path}?file=${encodeURIComponent(file.path)}`}
              className="min-w-0 font-mono text-12 break-all text-ink hover:underline"
            >
              {visibleText(file.path)}
            </Link>
            {file.fault === null
              ? `${formatWords(file.format)}, ${formatCount(file.tensors)} tensors, ${formatBytes(file.sizeBytes)}`
              : "could only be read in part"}
          </li>
        ))}
      </ul>
      {faulty.length + telling.length > 24 && (
        <p className="nums text-faint">and {formatCount(faulty.length + telling.length - 24)} more</p>
      )}
      {data.filesOmitted > 0 && (
        <p className="nums text-faint">
          {formatCount(data.filesOmitted)} files were not looked at: they are more than fit into one answer.
        </p>
      )}
    </>
  );
}
