import type { CheckpointRow, RunView } from "#protocol/wire/views.ts";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { FolderLines } from "./folder-lines.tsx";
import type { StepRange } from "./step-range.ts";
import { StepTimeline } from "./step-timeline.tsx";

const RunHistory = onDemand(
  () => import("./run-history.tsx").then((part) => part.RunHistory),
  () => <Skeleton className="h-[88px] w-full" />,
);

interface RunStepsProps {
  run: RunView;
  /** Whether the run has more steps than the timeline shows. */
  isLong: boolean;
  /** Whether the node of the newest epoch reports. */
  writer: "heard" | "unheard";
  checkpoints: readonly CheckpointRow[];
  range: StepRange | null;
  onRange: (range: StepRange | null) => void;
}

/** Shows the steps of a run: a long one as a whole first, then by epoch, then by folder when there are several. */
export function RunSteps({ run, isLong, writer, checkpoints, range, onRange }: RunStepsProps) {
  return (
    <div className="flex flex-col gap-4">
      {isLong && <RunHistory run={run.name} range={range} onRange={onRange} />}
      <StepTimeline epochs={run.epochs} writer={writer} checkpoints={checkpoints} />
      <FolderLines checkpoints={run.checkpoints} />
    </div>
  );
}
