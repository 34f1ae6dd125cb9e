"use client";
import { stepText, stepWords } from "#protocol/checkpoint/step-words.ts";
import { Link } from "../../_ui/navigation/link.tsx";
import { transferPhaseOf } from "#protocol/fleet/node-status.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { Mark, type Tone } from "../../_ui/indicators/mark.tsx";
import { PieceMap } from "../../_ui/indicators/piece-map.tsx";
import { say } from "../../_ui/feedback/toast.tsx";
import { shortText, visibleText } from "../../_ui/text/visible-text.ts";
import { hub } from "../queries/client.ts";
import { useRateUnit } from "../preferences/choices.ts";
import { FaultDetails } from "../faults/fault-note.tsx";
import { faultOf, wordsOf } from "../faults/fault-of.ts";
import { useNode } from "../live/live.tsx";
import { useWhyNot } from "../session/person.tsx";
import { actionsFor, factsOf, paceOf, placeOf, toneOf, type TransferAction } from "./transfer-words.ts";
import { newRequestId } from "../actions/use-action.ts";
import { usePendingAction, ACTION_WORDS, pendingActions, pendingNote, type PendingAction } from "./pending-actions.ts";

const WORD: Record<TransferAction, string> = { pause: "Pause", cancel: "Cancel", resume: "Resume", retry: "Retry" };

const ACTION_TONES: Record<TransferAction, Tone> = {
  pause: "risk",
  cancel: "quiet",
  resume: "moving",
  retry: "moving",
};

interface TransferLineProps {
  row: TransferRow;
  /** Whether the sentence names the node. The node's own page leaves it out. */
  subject?: "with-node" | "without-node";
  /** Called when a person requests an action. */
  onAct?: () => void;
}

/** Shows one transfer as a sentence with its piece map, its problem, and the possible actions. */
export function TransferLine({ row, subject = "with-node", onAct }: TransferLineProps) {
  const unit = useRateUnit();
  const { verb, place, file } = placeOf(row);
  const node = useNode(row.nodeId);
  // When the node does not report, its last speed is outdated and not shown.
  const phase = transferPhaseOf(row.state, node?.state ?? null);
  const unheard = phase === "unheard";
  const own = usePendingAction(row);
  const pending = own === null || own.phase === "late" ? null : own;
  const note = own === null || node === null ? null : pendingNote(own, node);
  const words = row.fault === null ? null : wordsOf(row.fault);
  const ended = row.state === "done" || row.state === "cancelled" || row.state === "superseded";
  return (
    <li
      className="flex gap-2.5 px-4 py-3"
      aria-label={`${verb} of ${row.run} ${stepText(row.step)} on ${row.nodeName}`}
    >
      <Mark
        tone={pending === null ? (unheard ? "risk" : toneOf(row)) : ACTION_TONES[pending.action]}
        className="mt-[5px]"
        label={pending === null ? (unheard ? phase : row.state) : ACTION_WORDS[pending.action]}
      />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline gap-x-4">
          <div className="min-w-0 flex-1 basis-72">
            {row.direction !== "upload" && <span className="text-soft">{verb} </span>}
            {subject === "with-node" && row.direction === "upload" && (
              <>
                <Link href={`/nodes/${encodeURIComponent(row.nodeId)}`} className="font-mid hover:underline">
                  {visibleText(row.nodeName)}
                </Link>{" "}
              </>
            )}
            <Link href={`/runs/${encodeURIComponent(row.run)}`} className="hover:underline">
              {visibleText(row.run)}
            </Link>{" "}
            <Link
              href={`/checkpoints/${encodeURIComponent(row.checkpointId)}`}
              className="nums font-mid hover:underline"
            >
              {stepWords(row.step)}
            </Link>
            <span className="text-faint"> → </span>
            {row.direction !== "upload" && subject === "with-node" && (
              <>
                <Link href={`/nodes/${encodeURIComponent(row.nodeId)}`} className="font-mid hover:underline">
                  {visibleText(row.nodeName)}
                </Link>{" "}
              </>
            )}
            <span className="font-mono text-12">{place}</span>
            {file !== null && <span className="nums text-soft">, {file}</span>}
          </div>
          <span className="nums dim-when-stale whitespace-nowrap text-soft">
            {pending === null
              ? unheard
                ? `node ${node?.state ?? "unheard"}`
                : paceOf(row, unit)
              : ACTION_WORDS[pending.action]}
          </span>
        </div>
        {!ended && row.pieces !== "" && (
          <div className="dim-when-stale pt-1.5">
            <PieceMap pieces={row.pieces} />
          </div>
        )}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-1">
          <span className="nums min-w-0 flex-1 basis-64 text-12 text-faint">
            {factsOf(row, unit)}
            {row.state === "running" && row.currentPath !== null && (
              <>
                {" · "}
                <span className="font-mono">{shortText(row.currentPath, 48)}</span>
              </>
            )}
          </span>
          <TransferActions row={row} pending={pending} onAct={onAct} />
        </div>
        {note !== null && <p className="pt-1 text-12 text-soft">{visibleText(note)}</p>}
        {words !== null && row.fault !== null && (
          <div className="pt-1 text-12 text-soft">
            {visibleText(words.says)} {words.next}
            <FaultDetails fault={row.fault} />
          </div>
        )}
      </div>
    </li>
  );
}

interface TransferActionsProps {
  row: TransferRow;
  /** Request in progress. Until it ends, only Cancel is enabled. */
  pending: PendingAction | null;
  onAct: (() => void) | undefined;
}

function TransferActions({ row, pending, onAct }: TransferActionsProps) {
  const whyNot = useWhyNot("operator");
  const act = (action: TransferAction): void => {
    const tell = () => hub.transfers.act.mutate({ requestId: newRequestId(), transferId: row.id, action });
    onAct?.();
    pendingActions.make(row.id, action, tell).catch((error: unknown) => say("lost", wordsOf(faultOf(error)).says));
  };
  return (
    <span className="flex gap-1.5">
      {actionsFor(row).map((action) => (
        <Button
          key={action}
          size="small"
          disabled={whyNot !== null || (pending !== null && (action !== "cancel" || pending.action === "cancel"))}
          title={whyNot ?? undefined}
          aria-label={`${WORD[action]} ${row.run} ${stepText(row.step)}`}
          onClick={() => act(action)}
        >
          {WORD[action]}
        </Button>
      ))}
    </span>
  );
}
