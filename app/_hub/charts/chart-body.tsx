"use client";
import type { QueryObserverResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Skeleton } from "../../_ui/loading/skeleton.tsx";
import { FaultNote } from "../faults/fault-note.tsx";
import { faultOf } from "../faults/fault-of.ts";

interface ChartBodyProps {
  /** The query for the values of the chart. */
  query: Pick<QueryObserverResult, "data" | "isError" | "error" | "refetch">;
  children: ReactNode;
}

/** Shows a chart in a panel: a placeholder while its values load, or the reason why they could not be loaded. */
export function ChartBody({ query, children }: ChartBodyProps) {
  return (
    <div className="px-2 pt-3 pb-2 sm:px-4">
      {query.data !== undefined ? (
        children
      ) : query.isError ? (
        <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />
      ) : (
        <Skeleton className="h-[172px] w-full" />
      )}
    </div>
  );
}
