"use client";
import type { ChartProps } from "./chart.tsx";
import { CHART_HEIGHT } from "./chart-scale.ts";
import { onDemand } from "../loading/on-demand.tsx";
import { Skeleton } from "../loading/skeleton.tsx";

/**
 * A chart that is loaded on demand. It reserves its height at once, so that the text of the page comes first and does not
 * move.
 */
export const ChartLater = onDemand<ChartProps>(
  () => import("./chart.tsx").then((module) => module.Chart),
  ({ height = CHART_HEIGHT }) => <Skeleton style={{ height }} />,
);
