"use client";
import { onItsWay } from "../_ui/loading/on-demand.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";

/** Transfers where something else comes first: they take their room and come after it. */
export const TransferListLater = onItsWay(
  () => import("./transfer-list.tsx").then((module) => module.TransferList),
  () => <SkeletonRows rows={3} label="Loading transfers" />,
);
