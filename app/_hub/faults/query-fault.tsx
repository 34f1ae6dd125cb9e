"use client";
import type { QueryObserverResult } from "@tanstack/react-query";
import { FaultNote } from "./fault-note.tsx";
import { faultOf } from "./fault-of.ts";

/** Shows in a panel why its data could not be loaded, with a button that tries again. */
export function QueryFault({ query }: { query: Pick<QueryObserverResult, "error" | "refetch"> }) {
  return (
    <div className="p-3">
      <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />
    </div>
  );
}
