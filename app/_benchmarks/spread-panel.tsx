"use client";
import type { BenchView } from "#protocol/benchmarks/views.ts";
import type { Spread } from "#protocol/benchmarks/summarize.ts";
import { useRate } from "../_hub/preferences/choices.ts";
import { Panel } from "../_ui/layout/panel.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

const WIDTH = 1_000;

/** Shows the distribution of node maxima, one mark per node, and the ratio of download to upload speed. */
export function SpreadPanel({ bench }: { bench: BenchView }) {
  const { nodeMaxima, summary, asymmetry } = bench;
  const most = Math.max(0, ...nodeMaxima.flatMap(({ up, down }) => [up ?? 0, down ?? 0]));
  // A single node has no distribution.
  if (most === 0 || nodeMaxima.length < 2) return null;
  return (
    <Panel title="Distribution" note="a mark is a node, at its maximum" label="Distribution">
      <div className="grid gap-3 px-4 py-3">
        <Strip label="Up" way="up" bench={bench} most={most} spread={summary.maxima.up} />
        <Strip label="Down" way="down" bench={bench} most={most} spread={summary.maxima.down} />
        {asymmetry !== null && (
          <p className="text-soft">
            Nodes fetch <b className="font-mid text-ink nums">{asymmetry.p50.toFixed(1)}</b> times as fast as they send
            (median; P10 <span className="nums">{asymmetry.p10.toFixed(1)}</span>, P90{" "}
            <span className="nums">{asymmetry.p90.toFixed(1)}</span>).
          </p>
        )}
      </div>
    </Panel>
  );
}

function Strip(props: { label: string; way: "up" | "down"; bench: BenchView; most: number; spread: Spread | null }) {
  const { label, way, bench, most, spread } = props;
  const rate = useRate();
  if (spread === null) return null;
  const at = (value: number) => (value / most) * (WIDTH - 20) + 10;
  const words = `${label}: ${spread.count} nodes, P10 ${rate(spread.p10)}, P50 ${rate(spread.p50)}, P90 ${rate(spread.p90)}`;
  return (
    <div className="grid grid-cols-[48px_minmax(0,1fr)] items-center gap-x-3">
      <span className="text-soft">{label}</span>
      <svg viewBox={`0 0 ${WIDTH} 48`} preserveAspectRatio="none" className="h-10 w-full" role="img" aria-label={words}>
        <line x1="0" x2={WIDTH} y1="24" y2="24" className="stroke-line" vectorEffect="non-scaling-stroke" />
        <rect
          x={at(spread.p10)}
          width={Math.max(2, at(spread.p90) - at(spread.p10))}
          y="14"
          height="20"
          className="fill-sunk"
        />
        {bench.nodeMaxima.map(({ nodeId, nodeName, [way]: value }) =>
          value === null ? null : (
            <line
              key={nodeId}
              x1={at(value)}
              x2={at(value)}
              y1="16"
              y2="32"
              className={way === "up" ? "stroke-moving" : "stroke-safe"}
              strokeWidth="2"
              vectorEffect="non-scaling-stroke"
            >
              <title>{`${visibleText(nodeName)}: ${rate(value)}`}</title>
            </line>
          ),
        )}
        <line
          x1={at(spread.p50)}
          x2={at(spread.p50)}
          y1="6"
          y2="42"
          className="stroke-ink"
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      </svg>
      <span />
      <span className="nums flex justify-between text-12 text-faint">
        <span>0</span>
        <span>median {rate(spread.p50)}</span>
        <span>{rate(most)}</span>
      </span>
    </div>
  );
}
