"use client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { MetricLine, RunMetric } from "#protocol/checkpoint/run-metrics.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { ChartBody } from "../_hub/charts/chart-body.tsx";
import { runMetricsQuery } from "../_hub/queries/queries.ts";
import { Chart } from "../_ui/charts/chart.tsx";
import { useGo } from "../_ui/navigation/going.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { checkpointAt, chartOf, stepsShown } from "./metric-chart.ts";
import type { StepRange } from "./step-range.ts";

interface MetricsPanelProps {
  run: string;
  /** Steps that the page shows; null for all. */
  range: StepRange | null;
  /** Highest step of the run. */
  lastStep: number;
  onRange: (range: StepRange | null) => void;
}

const HEIGHT = 148;

/** Shows metrics of checkpoints over the steps. A click opens the checkpoint of a point; a drag selects the steps of the page. */
export function MetricsPanel({ run, range, lastStep, onRange }: MetricsPanelProps) {
  const [name, setName] = useAddressWord("metric", "");
  const found = useQuery({
    ...runMetricsQuery({ run, names: name === "" ? [] : [name], steps: range }),
    placeholderData: keepPreviousData,
  });
  const names = found.data?.names ?? [];
  const metrics = found.data?.metrics.filter(({ lines }) => lines.length > 0) ?? [];
  const shown = stepsShown(metrics, range);
  return (
    <Panel
      title="Metrics"
      label="Metrics"
      note="of complete checkpoints, over the steps"
      side={
        <>
          <Tag tone="safe">newest epoch</Tag>
          <Tag tone="quiet">earlier ones</Tag>
          {(names.length > 1 || name !== "") && (
            <div className="w-44">
              <Select
                label="Metric"
                value={name}
                choices={[
                  { value: "", label: "The first four" },
                  ...[...new Set([...names, ...(name === "" ? [] : [name])])].map((value) => ({
                    value,
                    label: visibleText(value),
                  })),
                ]}
                onChange={setName}
              />
            </div>
          )}
        </>
      }
    >
      <ChartBody query={found}>
        {metrics.length === 0 ? (
          <p className="py-2 text-soft">
            {range === null
              ? "No complete checkpoint has a metric."
              : `No checkpoint of steps ${formatCount(range.from)} to ${formatCount(range.to)} carries one.`}
          </p>
        ) : (
          <div className="grid gap-x-6 gap-y-3 md:grid-cols-2 md:only:grid-cols-1">
            {metrics.map((metric) => (
              <MetricFigure
                key={metric.name}
                metric={metric}
                shown={shown}
                range={range}
                lastStep={lastStep}
                onRange={onRange}
              />
            ))}
          </div>
        )}
      </ChartBody>
    </Panel>
  );
}

interface FigureProps extends Omit<MetricsPanelProps, "run"> {
  metric: RunMetric;
  shown: StepRange;
}

function MetricFigure({ metric, shown, range, lastStep, onRange }: FigureProps) {
  const go = useGo();
  const { times, series } = chartOf(metric);
  const name = visibleText(metric.name);
  return (
    <figure aria-label={name} className="min-w-0">
      <figcaption className="flex items-baseline gap-2 pb-1">
        <span className="min-w-0 truncate font-mid">{name}</span>
        <span className="nums text-soft">{newestWords(metric.lines, series[0]?.format)}</span>
      </figcaption>
      <Chart
        axis="steps"
        label={`${name} over steps`}
        times={times}
        series={series}
        from={shown.from}
        to={shown.to}
        height={HEIGHT}
        whole={range === null ? null : { from: 0, to: Math.max(lastStep, range.to) }}
        onPart={(part) =>
          onRange(part === null ? null : { from: Math.max(0, Math.floor(part.from)), to: Math.ceil(part.to) })
        }
        onOpen={(index) => {
          const id = checkpointAt(metric, times[index] ?? 0);
          if (id !== null) go?.(`/checkpoints/${encodeURIComponent(id)}`);
        }}
      />
    </figure>
  );
}

function newestWords(lines: readonly MetricLine[], format: ((value: number) => string) | undefined): string {
  const value = lines[0]?.values.at(-1);
  return value === undefined || format === undefined ? "" : format(value);
}
