/** Range of a chart that is shown. */
export interface ChartPart {
  from: number;
  to: number;
}

/** Returns half of the shown range around `at`, moved so that it stays inside. */
export function zoomIn({ from, to }: ChartPart, at: number): ChartPart {
  const half = (to - from) / 4;
  const middle = Math.min(to - half, Math.max(from + half, at));
  return { from: middle - half, to: middle + half };
}

/** Returns twice the shown range around its middle; null when that covers the whole chart. */
export function zoomOut({ from, to }: ChartPart, whole: ChartPart): ChartPart | null {
  const room = (to - from) / 2;
  const wider = { from: Math.max(whole.from, from - room), to: Math.min(whole.to, to + room) };
  return wider.from <= whole.from && wider.to >= whole.to ? null : wider;
}

/** Returns the range that a drag selected, or null when it was a click. `perPixel` is the width of a pixel on the axis. */
export function draggedPart(from: number, to: number, perPixel: number): ChartPart | null {
  return Math.abs(to - from) < LEAST_DRAG * perPixel ? null : { from: Math.min(from, to), to: Math.max(from, to) };
}

/** Shortest drag, in pixels: a click of an unsteady hand moves less. */
const LEAST_DRAG = 6;
