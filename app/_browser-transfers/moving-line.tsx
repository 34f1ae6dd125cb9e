import type { ReactNode } from "react";
import type { FaultData } from "#protocol/faults/fault.ts";
import { FaultDetails } from "../_hub/faults/fault-note.tsx";
import { wordsOf } from "../_hub/faults/fault-of.ts";
import { Mark, type Tone } from "../_ui/indicators/mark.tsx";
import { PieceMap } from "../_ui/indicators/piece-map.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

interface MovingLineProps {
  verb: "upload" | "download";
  /** Name of the transferred thing, already safe to show. */
  name: string;
  to: ReactNode;
  tone: Tone;
  state: string;
  pace: string;
  /** Piece map; empty hides it. */
  pieces: string;
  /** The piece map in words. */
  progress: string;
  facts: string;
  actions: ReactNode;
  fault: FaultData | null;
  /** A remedy for the fault, shown after its text. */
  wayOut?: ReactNode;
  children?: ReactNode;
}

/** Shows one transfer of this browser as a sentence with its piece map, actions and fault. */
export function MovingLine(props: MovingLineProps) {
  const { verb, name, to, tone, state, pace, pieces, progress, facts, actions, fault, wayOut, children } = props;
  const words = fault === null ? null : wordsOf(fault);
  return (
    <li className="flex gap-2.5 px-4 py-3" aria-label={`${verb} of ${name}`}>
      <Mark tone={tone} className="mt-[5px]" label={state} />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline gap-x-4">
          <div className="min-w-0 flex-1 basis-72">
            <span className="text-soft">{verb} </span>
            <span className="font-mid [overflow-wrap:anywhere]">{name}</span>
            <span className="text-faint"> → </span>
            {to}
          </div>
          <span className="nums whitespace-nowrap text-soft">{pace}</span>
        </div>
        {pieces !== "" && (
          <div className="pt-1.5">
            <PieceMap pieces={pieces} words={progress} />
          </div>
        )}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-1">
          <span className="nums min-w-0 flex-1 basis-64 text-12 text-faint">{facts}</span>
          <span className="flex flex-wrap gap-1.5">{actions}</span>
        </div>
        {words !== null && fault !== null && (
          <div className="pt-1 text-12 text-soft">
            {visibleText(words.says)} {words.next}
            {wayOut}
            <FaultDetails fault={fault} />
          </div>
        )}
        {children}
      </div>
    </li>
  );
}
