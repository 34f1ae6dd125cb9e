"use client";
import { formatCount, formatEta, formatRate, type RateUnit } from "#protocol/base/units.ts";
import { useRateUnit } from "../../_hub/preferences/choices.ts";
import { Button } from "../../_ui/controls/button.tsx";
import type { Tone } from "../../_ui/indicators/mark.tsx";
import { unreadableWords } from "#protocol/checkpoint/unreadable-names.ts";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { progressOf } from "../batch-words.ts";
import { CorsOffer } from "../cors-offer.tsx";
import type { DownloadView } from "./download-life.ts";
import { actOnDownload } from "./downloads.ts";
import { MovingLine } from "../moving-line.tsx";
import { MODE_WORDS } from "./open-target.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

const TONE: Record<DownloadView["state"], Tone> = {
  listing: "moving",
  running: "moving",
  paused: "risk",
  failed: "lost",
  done: "safe",
};

function paceOf(view: DownloadView, unit: RateUnit): string {
  const { state, bytesPerSecond, bytesTotal, bytesDone } = view;
  if (state !== "running") return state;
  if (bytesPerSecond === 0) return "starting";
  const etaMs = (Math.max(0, bytesTotal - bytesDone) / bytesPerSecond) * 1000;
  return [formatRate(bytesPerSecond, unit), formatEta(etaMs) ?? "time left not known yet"].join(" · ");
}

/** Says how much of the download matched recorded checksums. */
function verdictOf({ verifiedBytes, bytesTotal }: DownloadView): string {
  if (verifiedBytes === bytesTotal) return "checksums agree";
  return verifiedBytes === 0 ? "no checksum on record" : `checksums agree for ${formatBytes(verifiedBytes)}`;
}

function factsOf(view: DownloadView): string {
  const { state, bytesDone, bytesTotal, filesTotal, filesDone, unreadable, retries, mode } = view;
  return [
    state === "done" ? formatBytes(bytesTotal) : progressOf({ bytesDone, bytesTotal }),
    ...(filesTotal > 1 ? [`${formatCount(filesDone)} of ${formatCount(filesTotal)} files`] : []),
    ...(state === "done" ? [verdictOf(view)] : []),
    ...(unreadable.length > 0 ? [`left out: ${unreadableWords(unreadable)}`] : []),
    ...(retries > 0 ? [`${formatCount(retries)} ${retries === 1 ? "retry" : "retries"}`] : []),
    MODE_WORDS[mode],
  ].join(" · ");
}

/** Shows one download of this page. */
export function DownloadLine({ view }: { view: DownloadView }) {
  const unit = useRateUnit();
  const name = visibleText(view.name);
  const isOver = view.state === "done";
  const actions = [
    ...(view.state === "running" && view.canPause ? (["pause"] as const) : []),
    ...(view.state === "paused" || view.state === "failed" ? (["resume"] as const) : []),
    isOver ? ("forget" as const) : ("cancel" as const),
  ];
  const WORD = {
    pause: "Pause",
    resume: view.state === "failed" ? "Try again" : "Resume",
    cancel: "Cancel",
    forget: "Clear",
  };
  return (
    <MovingLine
      verb="download"
      name={name}
      to={<span>this computer</span>}
      tone={TONE[view.state]}
      state={view.state}
      pace={paceOf(view, unit)}
      pieces={isOver ? "" : view.pieces}
      progress={progressOf(view)}
      facts={factsOf(view)}
      fault={view.fault}
      wayOut={
        view.fault?.code === "CORS_MISSING" && view.profileId !== null && <CorsOffer profileId={view.profileId} />
      }
      actions={actions.map((action) => (
        <Button
          key={action}
          size="small"
          aria-label={`${WORD[action]}: download of ${name}`}
          onClick={() => void actOnDownload(view.id, action)}
        >
          {WORD[action]}
        </Button>
      ))}
    />
  );
}
