"use client";
import { sentenceOf, type FaultData } from "#protocol/faults/fault.ts";
import { Copy } from "../../_ui/controls/copy.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";

/** Shows code, operation, status and request id, collapsed. */
export function FaultDetails({ fault }: { fault: FaultData }) {
  const raw = [
    `code: ${fault.code}`,
    ...(fault.op === undefined ? [] : [`operation: ${fault.op}`]),
    ...(fault.status === undefined ? [] : [`status: ${fault.status}`]),
    ...(fault.requestId === undefined ? [] : [`request id: ${fault.requestId}`]),
  ];
  return (
    <details className="mt-1 text-12">
      <summary className="w-fit text-faint">Details</summary>
      <div className="mt-1 flex items-start gap-1">
        <pre className="font-mono whitespace-pre-wrap text-soft">{raw.map(visibleText).join("\n")}</pre>
        <Copy text={`${sentenceOf(fault)}\n${raw.join("\n")}`} label="Copy this error" />
      </div>
    </details>
  );
}
