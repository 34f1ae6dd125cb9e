"use client";
import type { ReactNode } from "react";
import type { FaultData } from "#protocol/faults/fault.ts";
import { Banner } from "../../_ui/feedback/banner.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { onItsWay } from "../../_ui/loading/on-demand.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { wordsOf } from "./fault-of.ts";

/** Loaded with the page's script and not in it, because every page has a place for a fault and few show one. */
export const FaultDetails = onItsWay(() => import("./fault-details.tsx").then((module) => module.FaultDetails));

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
