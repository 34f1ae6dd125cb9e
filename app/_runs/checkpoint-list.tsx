import { formatCount } from "#protocol/base/units.ts";
import type { EpochView } from "#protocol/checkpoint/lineage.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { Button } from "../_ui/controls/button.tsx";
import { MoreRow } from "../_ui/tables/more-row.tsx";
import { Empty } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { CheckpointTable } from "./checkpoint-table.tsx";
import type { StepRange } from "./step-range.ts";
import type { useCheckpointPages } from "./use-checkpoint-pages.ts";

interface CheckpointListProps {
  rows: readonly CheckpointRow[];
  epochs: readonly EpochView[];
  pages: ReturnType<typeof useCheckpointPages>;
  filter: { id: string; label: string };
  range: StepRange | null;
  /** Number of checkpoints of the run, regardless of filters. */
  whole: number;
  onNewest: () => void;
}

/** Lists the checkpoints of a run, or says why there are none, with a button for older ones. */
export function CheckpointList({ rows, epochs, pages, filter, range, whole, onNewest }: CheckpointListProps) {
  return (
    <>
      {rows.length === 0 && pages.isAsked ? (
        <SkeletonRows rows={6} label="Loading these steps" />
      ) : rows.length === 0 && range !== null ? (
        <Empty
          title={`Nothing among steps ${formatCount(range.from)} to ${formatCount(range.to)}`}
          action={<Button onClick={onNewest}>Newest steps</Button>}
        >
          {filter.id === "all"
            ? "No checkpoint of these steps was captured, or it was replaced or deleted since."
            : `None of these is ${filter.label.toLowerCase()}.`}
        </Empty>
      ) : rows.length === 0 ? (
        <Empty title={whole === 0 ? "No checkpoint yet" : "None like this"}>
          {whole === 0
            ? "The first one appears here as soon as the program has finished writing it."
            : `${formatCount(whole)} checkpoints are not.`}
        </Empty>
      ) : (
        <CheckpointTable rows={rows} epochs={epochs} />
      )}
      <MoreRow
        word="Older"
        onMore={pages.more}
        state={pages.isLoading ? "loading" : "idle"}
        note={
          pages.more === null
            ? undefined
            : range === null
              ? `${formatCount(rows.length)} of ${formatCount(pages.count)} shown`
              : `${formatCount(rows.length)} shown`
        }
      />
    </>
  );
}
