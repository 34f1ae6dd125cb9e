"use client";
import type { QueryObserverResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FaultNote } from "./fault-note.tsx";
import { faultOf, isNotThere, notThere } from "./fault-of.ts";

interface PageFaultProps {
  query: Pick<QueryObserverResult, "error" | "refetch">;
  /** Kind of thing that the address names: "run". */
  thing: string;
  /** Link to the list of such things. */
  wayOut: ReactNode;
}

/** Replaces a page whose address names nothing, or whose data could not be loaded; the latter can be tried again. */
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
