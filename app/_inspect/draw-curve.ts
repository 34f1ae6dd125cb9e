import type { CurvePoint } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import { pointsWith, rangeOf, ticksWithin, valueWords, type CurveKey } from "./curve-scale.ts";

export const HEIGHT = 180;
const TOP = 10;
const BOTTOM = 22;
const INKS: Record<CurveKey, string> = {
  loss: "--safe",
  evalLoss: "--moving",
  learningRate: "--safe",
  gradNorm: "--safe",
};

interface Drawing {
  points: readonly CurvePoint[];
  keys: readonly CurveKey[];
  /** Width in CSS pixels. */
  width: number;
  /** Index of the point under the crosshair; null without one. */
  cursor: number | null;
}

/** Draws the lines in the page's colors at the device's pixel ratio. */
export function drawCurve(canvas: HTMLCanvasElement, { points, keys, width, cursor }: Drawing): void {
  const pen = canvas.getContext("2d");
  const values = rangeOf(points.flatMap((point) => keys.map((key) => point[key])));
  const steps = rangeOf(points.map(({ step }) => step));
  if (pen === null || values === null || steps === null) return;
  const sharp = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(HEIGHT * sharp);
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  pen.clearRect(0, 0, width, HEIGHT);
  const style = getComputedStyle(canvas);
  const ink = (name: string) => style.getPropertyValue(name).trim();
  const x = (step: number) =>
    steps.high === steps.low ? width / 2 : ((step - steps.low) / (steps.high - steps.low)) * width;
  const pad = values.high === values.low ? Math.abs(values.high) * 0.1 + 1e-9 : (values.high - values.low) * 0.04;
  const [low, high] = [values.low - pad, values.high + pad];
  const y = (value: number) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  pen.font = `11px ${style.fontFamily}`;
  pen.lineWidth = 1;
  for (const tick of ticksWithin({ low, high })) {
    pen.strokeStyle = ink("--line");
    pen.beginPath();
    pen.moveTo(0, Math.round(y(tick)) + 0.5);
    pen.lineTo(width, Math.round(y(tick)) + 0.5);
    pen.stroke();
    pen.fillStyle = ink("--faint");
    pen.textAlign = "left";
    pen.fillText(valueWords(tick), 2, y(tick) - 4);
  }
  pen.fillStyle = ink("--faint");
  pen.textAlign = "left";
  pen.fillText(`step ${formatCount(steps.low)}`, 0, HEIGHT - 6);
  pen.textAlign = "right";
  pen.fillText(formatCount(steps.high), width, HEIGHT - 6);
  for (const key of keys) {
    const line = pointsWith(points, key);
    pen.strokeStyle = ink(INKS[key]);
    pen.fillStyle = ink(INKS[key]);
    pen.lineWidth = 1.5;
    pen.lineJoin = "round";
    pen.beginPath();
    for (const [index, point] of line.entries()) {
      if (index === 0) pen.moveTo(x(point.step), y(point.value));
      else pen.lineTo(x(point.step), y(point.value));
    }
    pen.stroke();
    // Up to 40 points are also drawn as dots, because the line between them is interpolation.
    if (line.length > 40) continue;
    for (const point of line) {
      pen.beginPath();
      pen.arc(x(point.step), y(point.value), 2.5, 0, 2 * Math.PI);
      pen.fill();
    }
  }
  const at = cursor === null ? undefined : points[cursor];
  if (at === undefined) return;
  pen.strokeStyle = ink("--edge");
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(Math.round(x(at.step)) + 0.5, TOP);
  pen.lineTo(Math.round(x(at.step)) + 0.5, HEIGHT - BOTTOM);
  pen.stroke();
}
