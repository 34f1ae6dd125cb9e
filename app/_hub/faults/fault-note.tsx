"use client";
import type { ReactNode } from "react";
import { sentenceOf, type FaultData } from "#protocol/faults/fault.ts";
import { Banner } from "../../_ui/feedback/banner.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { Copy } from "../../_ui/controls/copy.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { wordsOf } from "./fault-of.ts";

interface FaultNoteProps {
  fault: FaultData;
  onRetry?: () => void;
  /** An alternative to trying again. */
  action?: ReactNode;
}

/** Explains a fault in plain words with what to do next; the code and the request id are collapsed below. */
export function FaultNote({ fault, onRetry, action }: FaultNoteProps) {
  const words = wordsOf(fault);
  const temporary = fault.code === "HUB_UNREACHABLE" || fault.code === "SHUTTING_DOWN";
  return (
    <Banner
      tone={temporary ? "risk" : "lost"}
      title={visibleText(words.says)}
      action={
        onRetry === undefined ? (
          action
        ) : (
          <Button size="small" onClick={onRetry}>
            Try again
          </Button>
        )
      }
    >
      {words.next}
      <FaultDetails fault={fault} />
    </Banner>
  );
}

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
