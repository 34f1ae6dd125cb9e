/** The part of a chart that is shown, and how keys change it. Pure. */
export interface ChartPart {
  from: number;
  to: number;
}

/** Half of what is shown, about `at`, within it. */
export function zoomIn({ from, to }: ChartPart, at: number): ChartPart {
  const half = (to - from) / 4;
  const middle = Math.min(to - half, Math.max(from + half, at));
  return { from: middle - half, to: middle + half };
}

/** Twice as much about its middle; null when that is all there is. */
export function zoomOut({ from, to }: ChartPart, whole: ChartPart): ChartPart | null {
  const room = (to - from) / 2;
  const wider = { from: Math.max(whole.from, from - room), to: Math.min(whole.to, to + room) };
  return wider.from <= whole.from && wider.to >= whole.to ? null : wider;
}

/** What a drag between two places chose, or null when it was a press: `perPixel` is what a pixel stands for. */
export function draggedPart(from: number, to: number, perPixel: number): ChartPart | null {
  return Math.abs(to - from) < LEAST_DRAG * perPixel ? null : { from: Math.min(from, to), to: Math.max(from, to) };
}

/** Pixels: a press whose hand trembles is no drag. */
const LEAST_DRAG = 6;
