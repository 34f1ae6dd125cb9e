"use client";
import type { QueryObserverResult } from "@tanstack/react-query";
import { FaultNote } from "./fault-note.tsx";
import { faultOf } from "./fault-of.ts";

/** In a panel: why what fills it did not come, and the way to ask again. */
export function QueryFault({ query }: { query: Pick<QueryObserverResult, "error" | "refetch"> }) {
  return (
    <div className="p-3">
      <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />
    </div>
  );
}
