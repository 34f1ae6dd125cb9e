import { CHART_TOP, type ChartLayout, type ChartScale, type Series } from "./chart-layout.ts";
import { formatCount } from "#protocol/base/units.ts";
import { alonePoints, brokenArea, brokenPath, tickWords, type Point } from "./chart-scale.ts";
import { placeMarkers, type ChartMarker } from "./place-markers.ts";

const MARKER_TOP = 8;
const MARKER_WORDS = 14;
/** Width kept free at the right end of the time axis, in pixels, for the table button. Only for charts with inside labels. */
const CORNER = 28;

interface Drawn {
  layout: ChartLayout;
  series: readonly Series[];
  markers: readonly ChartMarker[];
  /** Sample under the crosshair; null without a crosshair. */
  cursor: { at: number; index: number } | null;
  /** Range of a drag in progress; null while there is none. */
  chosen: { from: number; to: number } | null;
}

const ALONE = 2.5;
/** Draws a dot at each step when points are at least this far apart on average, in pixels. */
const POINT_ROOM = 7;

const inkName = (tone: Series["tone"]): string => (tone === "quiet" ? "--faint" : `--${tone}`);

function dot(pen: CanvasRenderingContext2D, { x, y }: Point, radius: number): void {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

interface Pen {
  pen: CanvasRenderingContext2D;
  ink: (name: string) => string;
  layout: ChartLayout;
}

/** Returns the context scaled to the device's pixel ratio and cleared; null where the browser gives no context. */
function sharpPen(canvas: HTMLCanvasElement, { width, height }: ChartLayout): CanvasRenderingContext2D | null {
  const pen = canvas.getContext("2d");
  if (pen === null) return null;
  const sharp = globalThis.devicePixelRatio || 1;
  const size = { width: Math.round(width * sharp), height: Math.round(height * sharp) };
  if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/** Returns a coordinate in the middle of a pixel, where lines one pixel wide are sharp. */
const sharpLine = (at: number): number => Math.round(at) + 0.5;

function line(pen: CanvasRenderingContext2D, points: readonly [number, number, number, number]): void {
  const [fromX, fromY, toX, toY] = points;
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
  pen.stroke();
}

const pathOf = (words: string): Path2D => new Path2D(words);

function drawTimes({ pen, ink, layout }: Pen): void {
  const { x, width, height, hasSide, spanMs } = layout;
  pen.fillStyle = ink("--faint");
  for (const at of layout.timeTicks) {
    const place = x(at);
    if (!hasSide && place > width - CORNER) continue;
    pen.textAlign = place < layout.plot.left + 20 ? "start" : place > width - 20 ? "end" : "center";
    pen.fillText(layout.axis === "time" ? tickWords(at, spanMs) : formatCount(at), place, height - 6);
  }
}

function drawScale({ pen, ink, layout }: Pen, scale: ChartScale, isFirst: boolean): void {
  const { plot, y, width, hasSide } = layout;
  const isOutside = isFirst && hasSide;
  pen.textAlign = isOutside || !isFirst ? "start" : "end";
  pen.fillStyle = ink(layout.scales.length > 1 && scale.tone !== null ? inkName(scale.tone) : "--faint");
  pen.strokeStyle = ink("--panel");
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  for (const tick of scale.ticks) {
    if (tick === 0 ? !isFirst || !hasSide : scale.isEmpty) continue;
    const place = isOutside ? plot.left + plot.width + 8 : isFirst ? width - 2 : plot.left + 2;
    const words = tick === 0 ? "0" : scale.format(tick).replace(".0 ", " ");
    const down = y(tick, scale.name) + (isOutside ? 4 : -4);
    pen.strokeText(words, place, down);
    pen.fillText(words, place, down);
  }
}

function drawSeries({ pen, ink, layout }: Pen, one: Series): void {
  const points = layout.pointsOf(one);
  const colour = ink(inkName(one.tone));
  pen.save();
  // The samples of a zoomed chart continue beyond both ends of the plot.
  pen.beginPath();
  pen.rect(layout.plot.left - ALONE, 0, layout.plot.width + 2 * ALONE, layout.height);
  pen.clip();
  if (one.fill === "area") {
    pen.globalAlpha = 0.16;
    pen.fillStyle = colour;
    pen.fill(pathOf(brokenArea(points, layout.gap, layout.plot.floor)));
    pen.globalAlpha = 1;
  }
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  pen.lineCap = "round";
  pen.stroke(pathOf(brokenPath(points, layout.gap)));
  pen.fillStyle = colour;
  const isRoomy = layout.axis === "steps" && points.length * POINT_ROOM < layout.plot.width;
  for (const point of isRoomy ? points : alonePoints(points, layout.gap)) dot(pen, point, ALONE);
  pen.restore();
}

function drawMarkers({ pen, ink, layout }: Pen, markers: readonly ChartMarker[]): void {
  for (const { marker, x, words } of placeMarkers(markers, layout)) {
    pen.strokeStyle = ink(`--${marker.tone}`);
    pen.fillStyle = ink(`--${marker.tone}`);
    pen.lineWidth = 1;
    pen.setLineDash([2, 3]);
    line(pen, [sharpLine(x), MARKER_TOP, sharpLine(x), layout.plot.floor]);
    pen.setLineDash([]);
    if (words === null) continue;
    pen.textAlign = words.align;
    pen.fillText(marker.label, words.x, MARKER_WORDS);
  }
}

function drawCursor({ pen, ink, layout }: Pen, { series, cursor }: Pick<Drawn, "series" | "cursor">): void {
  if (cursor === null) return;
  const x = layout.x(cursor.at);
  pen.strokeStyle = ink("--edge");
  pen.lineWidth = 1;
  line(pen, [sharpLine(x), CHART_TOP, sharpLine(x), layout.plot.floor]);
  for (const one of series) {
    const value = one.values[cursor.index] ?? null;
    if (value === null) continue;
    pen.fillStyle = ink(inkName(one.tone));
    dot(pen, { x, y: layout.y(value, one.scale.name) }, 3);
  }
}

function drawChosen({ pen, ink, layout }: Pen, chosen: Drawn["chosen"]): void {
  if (chosen === null) return;
  const [from, to] = [layout.x(Math.min(chosen.from, chosen.to)), layout.x(Math.max(chosen.from, chosen.to))];
  pen.globalAlpha = 0.14;
  pen.fillStyle = ink("--accent");
  pen.fillRect(from, CHART_TOP, to - from, layout.plot.floor - CHART_TOP);
  pen.globalAlpha = 1;
}

/** Draws a chart in the current colors of the page. */
export function drawChart(canvas: HTMLCanvasElement, { layout, series, markers, cursor, chosen }: Drawn): void {
  const context = sharpPen(canvas, layout);
  if (context === null) return;
  const style = getComputedStyle(canvas);
  const pen: Pen = { pen: context, ink: (name) => style.getPropertyValue(name).trim(), layout };
  context.font = `11px ${style.fontFamily}`;
  context.strokeStyle = pen.ink("--line");
  context.lineWidth = 1;
  const [first] = layout.scales;
  for (const tick of first?.ticks ?? []) {
    const y = sharpLine(layout.y(tick, first?.name ?? ""));
    line(context, [layout.plot.left, y, layout.plot.left + layout.plot.width, y]);
  }
  drawTimes(pen);
  for (const one of series) drawSeries(pen, one);
  for (const [order, scale] of layout.scales.entries()) drawScale(pen, scale, order === 0);
  drawMarkers(pen, markers);
  drawCursor(pen, { series, cursor });
  drawChosen(pen, chosen);
}
