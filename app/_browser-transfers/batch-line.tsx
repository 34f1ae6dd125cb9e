"use client";
import { useState } from "react";
import { useRateUnit } from "../_hub/choices.ts";
import { FaultDetails } from "../_hub/fault-note.tsx";
import { faultOf, wordsOf } from "../_hub/fault-of.ts";
import { useWhyNot } from "../_hub/person.tsx";
import { Button, ButtonLink } from "../_ui/button.tsx";
import { Mark } from "../_ui/mark.tsx";
import { PieceMap } from "../_ui/piece-map.tsx";
import { say } from "../_ui/toast.tsx";
import { shortText, visibleText } from "../_ui/visible-text.ts";
import type { BatchAction } from "./batch-life.ts";
import { factsOf, paceOf, placeOf, subjectOf, toneOf } from "./batch-words.ts";
import type { DeskBatch, TransferDesk } from "./desk.ts";
import { pickAgain } from "./pick-again.ts";
import { FileList } from "./file-list.tsx";

const WORD: Record<BatchAction, string> = {
  pause: "Pause",
  resume: "Resume",
  retry: "Try again",
  replace: "Replace what is there",
  cancel: "Cancel",
  forget: "Clear",
};

function actionsFor({ state, files, fault, owner, filesTotal }: DeskBatch): BatchAction[] {
  if (state === "running") return ["pause", "cancel"];
  const isWhole = files.done + files.same === filesTotal;
  const again: BatchAction[] = files.failed > 0 ? ["retry", ...(owner === "here" ? (["replace"] as const) : [])] : [];
  if (state === "paused") return [fault === null ? "resume" : "retry", "cancel"];
  if (state === "needs-files") return [...again, "cancel"];
  return isWhole ? ["forget"] : [...again, "forget"];
}

/** One upload of this browser as a sentence, with its piece map, its files and what can be done. */
export function BatchLine({ batch, desk }: { batch: DeskBatch; desk: TransferDesk }) {
  const unit = useRateUnit();
  const [isOpen, setOpen] = useState(false);
  const words = batch.fault === null ? null : wordsOf(batch.fault);
  const subject = visibleText(subjectOf(batch));
  const hasThere = desk.files(batch.id).some(({ fault }) => fault?.code === "ALREADY_EXISTS");
  const run = (action: BatchAction): void => {
    desk.act(batch.id, action).catch((error: unknown) => say("lost", wordsOf(faultOf(error)).says));
  };
  return (
    <li className="flex gap-2.5 px-4 py-3" aria-label={`upload of ${subject}`}>
      <Mark tone={toneOf(batch)} className="mt-[5px]" label={batch.state} />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline gap-x-4">
          <div className="min-w-0 flex-1 basis-72">
            <span className="text-soft">upload </span>
            <span className="font-mid [overflow-wrap:anywhere]">{subject}</span>
            <span className="text-faint"> → </span>
            <span className="font-mono text-12">{shortText(placeOf(batch), 72)}</span>
          </div>
          <span className="nums whitespace-nowrap text-soft">{paceOf(batch, unit)}</span>
        </div>
        {batch.state !== "ended" && (
          <div className="pt-1.5">
            <PieceMap pieces={batch.pieces} />
          </div>
        )}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-1">
          <span className="nums min-w-0 flex-1 basis-64 text-12 text-faint">{factsOf(batch)}</span>
          <span className="flex flex-wrap gap-1.5">
            {batch.state === "needs-files" && batch.owner === "here" && (
              <Button
                size="small"
                onClick={() =>
                  void pickAgain().then(async (files) => {
                    const wrong = await desk.giveAgain(batch.id, files);
                    if (wrong[0] !== undefined)
                      say("lost", `${wrong[0]} is not the file that was chosen: size or time differ.`);
                  })
                }
              >
                Choose the files again
              </Button>
            )}
            {actionsFor(batch)
              .filter((action) => action !== "replace" || hasThere)
              .map((action) => (
                <Button
                  key={action}
                  size="small"
                  aria-label={`${WORD[action]}: upload of ${subject}`}
                  onClick={() => run(action)}
                >
                  {WORD[action]}
                </Button>
              ))}
          </span>
        </div>
        {words !== null && batch.fault !== null && (
          <div className="pt-1 text-12 text-soft">
            {visibleText(words.says)} {words.next}
            {batch.fault.code === "CORS_MISSING" && <CorsOffer profileId={batch.profileId} />}
            <FaultDetails fault={batch.fault} />
          </div>
        )}
        {batch.owner === "here" && (
          <details className="pt-1 text-12" onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary className="w-fit text-faint">Files</summary>
            {isOpen && <FileList files={desk.files(batch.id)} />}
          </details>
        )}
      </div>
    </li>
  );
}

/** The rule is shown before it is written, where it always is. */
function CorsOffer({ profileId }: { profileId: string }) {
  const whyNot = useWhyNot("admin");
  if (whyNot !== null) return <> {whyNot}</>;
  return (
    <div className="pt-1.5">
      <ButtonLink size="small" href={`/buckets?cors=${encodeURIComponent(profileId)}`}>
        Set the CORS rule…
      </ButtonLink>
    </div>
  );
}
