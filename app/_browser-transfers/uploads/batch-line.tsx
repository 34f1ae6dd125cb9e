"use client";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { useRateUnit } from "../../_hub/preferences/choices.ts";
import { faultOf, wordsOf } from "../../_hub/faults/fault-of.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { say } from "../../_ui/feedback/toast.tsx";
import { shortText, visibleText } from "../../_ui/text/visible-text.ts";
import type { BatchAction } from "./batch-life.ts";
import type { Asked } from "./batch-view.ts";
import { factsOf, paceOf, progressOf, placeOf, subjectOf, toneOf } from "../batch-words.ts";
import { CorsOffer } from "../cors-offer.tsx";
import type { UploadBatch, UploadManager } from "./upload-manager.ts";
import { MovingLine } from "../moving-line.tsx";
import { FileList } from "./file-list.tsx";
import { lastName } from "./match-files.ts";

const WORD: Record<BatchAction, string> = {
  pause: "Pause",
  resume: "Resume",
  retry: "Try again",
  replace: "Replace what is there",
  cancel: "Cancel",
  forget: "Clear",
};

function actionsFor({ state, files, fault, owner, filesTotal }: UploadBatch): BatchAction[] {
  if (state === "running") return ["pause", "cancel"];
  const isWhole = files.done + files.same === filesTotal;
  const again: BatchAction[] = files.failed > 0 ? ["retry", ...(owner === "here" ? (["replace"] as const) : [])] : [];
  if (state === "paused") return [fault === null ? "resume" : "retry", "cancel"];
  if (state === "needs-files") return [...again, "cancel"];
  return isWhole ? ["forget"] : [...again, "forget"];
}

/** Returns what the button asks the person to choose. */
const nameOf = ({ pick, name }: Asked): string => {
  if (name !== null) return shortText(lastName(name), 40);
  return pick === "folder" ? "the folder" : "the files";
};

const notFound = (paths: readonly string[]): string =>
  paths.length === 1 ? `${visibleText(paths[0] ?? "")} is` : `${formatCount(paths.length)} files are`;

/** Shows one upload of this browser with its piece map, files and actions. */
export function BatchLine({ batch, manager }: { batch: UploadBatch; manager: UploadManager }) {
  const unit = useRateUnit();
  const [isOpen, setOpen] = useState(false);
  const subject = visibleText(subjectOf(batch));
  const hasThere = manager.files(batch.id).some(({ fault }) => fault?.code === "ALREADY_EXISTS");
  const run = (action: BatchAction): void => {
    manager.act(batch.id, action).catch((error: unknown) => say("lost", wordsOf(faultOf(error)).says));
  };
  const askAgain = (): void => {
    manager
      .askAgain(batch.id)
      .then((left) => {
        const [changed, missing] = [left?.changed ?? [], left?.missing ?? []];
        if (changed[0] !== undefined)
          say("lost", `${visibleText(changed[0])} is not the file that was chosen: size or time differ.`);
        else if (missing[0] !== undefined) say("risk", `${notFound(missing)} not below what was chosen.`);
      })
      .catch((error: unknown) => say("lost", wordsOf(faultOf(error)).says));
  };
  return (
    <MovingLine
      verb="upload"
      name={subject}
      to={<span className="font-mono text-12">{shortText(placeOf(batch), 72)}</span>}
      tone={toneOf(batch)}
      state={batch.state}
      pace={paceOf(batch, unit)}
      pieces={batch.state === "ended" ? "" : batch.pieces}
      progress={progressOf(batch)}
      facts={factsOf(batch)}
      fault={batch.fault}
      wayOut={batch.fault?.code === "CORS_MISSING" && <CorsOffer profileId={batch.profileId} />}
      actions={
        <>
          {batch.asked !== null && batch.owner === "here" && (
            <>
              {batch.asked.for === "leave" && (
                <Button size="small" look="main" onClick={() => run("resume")}>
                  {`Allow reading ${nameOf(batch.asked)} and go on`}
                </Button>
              )}
              <Button size="small" onClick={askAgain}>
                {`Choose ${nameOf(batch.asked)} again`}
              </Button>
            </>
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
        </>
      }
    >
      {batch.owner === "here" && (
        <details className="pt-1 text-12" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="w-fit text-faint">Files</summary>
          {isOpen && <FileList files={manager.files(batch.id)} />}
        </details>
      )}
    </MovingLine>
  );
}
