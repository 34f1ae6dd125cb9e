"use client";
import type { QueryObserverResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FaultNote } from "./fault-note.tsx";
import { faultOf, isNotThere, notThere } from "./fault-of.ts";

interface PageFaultProps {
  query: Pick<QueryObserverResult, "error" | "refetch">;
  /** What the address names: "run". */
  thing: string;
  /** Where the others are. */
  wayOut: ReactNode;
}

/** Instead of a page: what its address names is not there, or it did not come and can be asked for again. */
export function PageFault({ query, thing, wayOut }: PageFaultProps) {
  const fault = faultOf(query.error);
  return (
    <FaultNote
      fault={notThere(fault, thing)}
      action={wayOut}
      {...(isNotThere(fault) ? {} : { onRetry: () => void query.refetch() })}
    />
  );
}
