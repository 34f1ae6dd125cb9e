"use client";
import { onItsWay } from "../_ui/loading/on-demand.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";

/** The transfer list for pages on which it is secondary. It reserves its space and loads after the rest. */
export const TransferListLater = onItsWay(
  () => import("./transfer-list.tsx").then((module) => module.TransferList),
  () => <SkeletonRows rows={3} label="Loading transfers" />,
);
