"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { useState } from "react";
import type { NodeRow, SamplePoint } from "#protocol/wire/views.ts";

/** One point of a node's charts. */
export type TrailPoint = Omit<SamplePoint, "lossMs">;

/**
 * Interval of live points in milliseconds. The hub stores one sample per minute, after the minute has ended. Live points
 * extend the chart in between, and stored samples replace them.
 */
const EVERY_MS = 5_000;
const MOST = 60;

/** Returns the trail with the present point appended when the interval has passed; otherwise the same list. */
export function withPresent(trail: readonly TrailPoint[], present: TrailPoint): readonly TrailPoint[] {
  const newest = trail.at(-1);
  if (newest !== undefined && present.at - newest.at < EVERY_MS) return trail;
  return [...trail.slice(1 - MOST), present];
}

/** Returns stored samples, then live points, then the present. A node that does not report has no present point. */
export function drawnPoints(
  stored: readonly TrailPoint[],
  trail: readonly TrailPoint[],
  present: TrailPoint | null,
): TrailPoint[] {
  const last = stored.at(-1)?.at ?? 0;
  const seen = trail.filter(({ at }) => at > last);
  const isNew = present !== null && present.at > (seen.at(-1)?.at ?? last);
  return [...stored, ...seen, ...(isNew ? [present] : [])];
}

/** Returns the points of a node's charts, which grow while the page is open. `now` is the hub's time, 0 until it is known. */
export function useTrail(node: NodeRow, now: number, stored: readonly SamplePoint[]): TrailPoint[] {
  const [kept, setKept] = useState<{ id: string; trail: readonly TrailPoint[] }>({ id: node.id, trail: [] });
  const present = isHeard(node.state) && now > 0 ? presentOf(node, now) : null;
  const before = kept.id === node.id ? kept.trail : [];
  const trail = present === null ? before : withPresent(before, present);
  if (trail !== kept.trail) setKept({ id: node.id, trail });
  return drawnPoints(stored, trail, present);
}

const presentOf = (node: NodeRow, now: number): TrailPoint => ({
  at: now,
  upBytesPerSecond: node.upBytesPerSecond,
  downBytesPerSecond: node.downBytesPerSecond,
  atRiskBytes: node.risk.bytes,
  rttMs: node.rttMs,
  cpuPercent: node.cpuPercent,
});
