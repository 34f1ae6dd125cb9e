"use client";
import type { ChartProps } from "./chart.tsx";
import { CHART_HEIGHT } from "./chart-scale.ts";
import { onDemand } from "../loading/on-demand.tsx";
import { Skeleton } from "../loading/skeleton.tsx";

/** A chart as pages have it: it takes its room at once and comes after what is to be read. */
export const ChartLater = onDemand<ChartProps>(
  () => import("./chart.tsx").then((module) => module.Chart),
  ({ height = CHART_HEIGHT }) => <Skeleton style={{ height }} />,
);
