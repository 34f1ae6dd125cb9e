"use client";
import { useEffect, useRef, useState } from "react";
import type { CurvePoint, LossCurve } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { nearestIndex } from "../_ui/charts/chart-scale.ts";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Cell, Row, SpacerRow, Table } from "../_ui/tables/table.tsx";
import { useColours } from "../_ui/charts/use-colours.ts";
import { useWidth } from "../_ui/rendering/use-width.ts";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { CURVES, CURVE_WORDS, valueWords, type CurveKey } from "./curve-scale.ts";
import { drawCurve, HEIGHT } from "./draw-curve.ts";

/** Shows the log of a Hugging Face Trainer as lines over the steps, or as a table. */
export function LossCurvePanel({ curve }: { curve: LossCurve }) {
  const [word, setWord] = useAddressWord("curve", "loss");
  const [view, setView] = useAddressWord("as", "line");
  const colours = useColours();
  const kinds = CURVES.filter(({ keys }) => curve.points.some((point) => keys.some((key) => point[key] !== null)));
  const kind = kinds.find(({ id }) => id === word) ?? kinds[0];
  if (kind === undefined) return null;
  const keys = kind.keys.filter((key) => curve.points.some((point) => point[key] !== null));
  const last = curve.points.at(-1);
  return (
    <Panel
      label="Training log"
      title="Training log"
      note={
        <span className="nums">
          {last !== undefined && `to step ${formatCount(curve.globalStep ?? last.step)}`}
          {curve.maxSteps !== null && ` of ${formatCount(curve.maxSteps)}`}
          {curve.pointsOmitted > 0 && `, ${formatCount(curve.pointsOmitted)} points thinned out`}
        </span>
      }
      side={
        <>
          <FilterWords label="What is drawn" words={kinds} value={kind.id} onChange={setWord} />
          <FilterWords
            label="Drawn as"
            words={[
              { id: "line", label: "Line" },
              { id: "table", label: "Table" },
            ]}
            value={view === "table" ? "table" : "line"}
            onChange={setView}
          />
        </>
      }
    >
      {view === "table" ? (
        <CurveTable points={curve.points} keys={keys} />
      ) : (
        <CurveCanvas key={colours} points={curve.points} keys={keys} />
      )}
    </Panel>
  );
}

interface CurveProps {
  points: readonly CurvePoint[];
  keys: readonly CurveKey[];
}

const wordsAt = (point: CurvePoint | undefined, keys: readonly CurveKey[]): string =>
  point === undefined
    ? ""
    : [`step ${formatCount(point.step)}`, ...keys.map((key) => `${CURVE_WORDS[key]} ${valueWords(point[key])}`)].join(
        ", ",
      );

function CurveCanvas({ points, keys }: CurveProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const [cursor, setCursor] = useState<number | null>(null);
  useEffect(() => {
    if (canvas.current !== null && width > 0) drawCurve(canvas.current, { points, keys, width, cursor });
  }, [points, keys, width, cursor]);
  const steps = points.map(({ step }) => step);
  const [first, last] = [steps[0] ?? 0, steps.at(-1) ?? 0];
  const shown = points[cursor ?? points.length - 1];
  return (
    <div className="px-4 py-3">
      <div ref={frame} className="relative">
        <canvas ref={canvas} aria-hidden className="block w-full" style={{ height: HEIGHT }} />
        <input
          type="range"
          aria-label={`${keys.map((key) => CURVE_WORDS[key]).join(" and ")} over steps`}
          aria-valuetext={wordsAt(shown, keys)}
          min={0}
          max={Math.max(0, points.length - 1)}
          value={cursor ?? Math.max(0, points.length - 1)}
          onChange={(event) => setCursor(Number(event.target.value))}
          onPointerMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            const at = first + ((event.clientX - box.left) / Math.max(1, box.width)) * (last - first);
            const index = nearestIndex(steps, at);
            setCursor(index === -1 ? null : index);
          }}
          onPointerLeave={() => setCursor(null)}
          onBlur={() => setCursor(null)}
          className="absolute inset-0 size-full cursor-crosshair touch-pan-y opacity-0"
        />
      </div>
      <p className="nums mt-1 text-12 text-soft">{wordsAt(shown, keys)}</p>
    </div>
  );
}

const ROW = 35;

function CurveTable({ points, keys }: CurveProps) {
  const frame = useRef<HTMLDivElement>(null);
  const shown = useRowWindow({ count: points.length, rowHeight: ROW, rows: frame });
  const columns = [
    { key: "step", head: "Step" },
    ...keys.map((key) => ({ key, head: CURVE_WORDS[key], align: "right" as const })),
  ];
  return (
    <div ref={frame}>
      <Table label="Training log" columns={columns}>
        {shown.before > 0 && <SpacerRow columns={columns.length} height={shown.before} />}
        {points.slice(shown.first, shown.end).map((point, row) => (
          <Row key={shown.first + row}>
            <Cell className="nums">{formatCount(point.step)}</Cell>
            {keys.map((key) => (
              <Cell key={key} align="right">
                {valueWords(point[key])}
              </Cell>
            ))}
          </Row>
        ))}
        {shown.after > 0 && <SpacerRow columns={columns.length} height={shown.after} />}
      </Table>
    </div>
  );
}
