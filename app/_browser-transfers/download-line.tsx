"use client";
import { formatBytes, formatCount, formatEta, formatRate, type RateUnit } from "#protocol/units.ts";
import { useRateUnit } from "../_hub/choices.ts";
import { FaultDetails } from "../_hub/fault-note.tsx";
import { wordsOf } from "../_hub/fault-of.ts";
import { Button } from "../_ui/button.tsx";
import { Mark, type Tone } from "../_ui/mark.tsx";
import { PieceMap } from "../_ui/piece-map.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import type { DownloadView } from "./download-life.ts";
import { actOnDownload } from "./downloads.ts";
import { MODE_WORDS } from "./open-target.ts";

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

/** How sure it is that these are the bytes that were written. */
function verdictOf({ verifiedBytes, bytesTotal }: DownloadView): string {
  if (verifiedBytes === bytesTotal) return "checksums agree";
  return verifiedBytes === 0 ? "no checksum on record" : `checksums agree for ${formatBytes(verifiedBytes)}`;
}

function factsOf(view: DownloadView): string {
  const { state, bytesDone, bytesTotal, filesTotal, filesDone, retries, mode } = view;
  return [
    state === "done" ? formatBytes(bytesTotal) : `${formatBytes(bytesDone)} of ${formatBytes(bytesTotal)}`,
    ...(filesTotal > 1 ? [`${formatCount(filesDone)} of ${formatCount(filesTotal)} files`] : []),
    ...(state === "done" ? [verdictOf(view)] : []),
    ...(retries > 0 ? [`${formatCount(retries)} ${retries === 1 ? "retry" : "retries"}`] : []),
    MODE_WORDS[mode],
  ].join(" · ");
}

/** One download of this page as a sentence. */
export function DownloadLine({ view }: { view: DownloadView }) {
  const unit = useRateUnit();
  const words = view.fault === null ? null : wordsOf(view.fault);
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
    <li className="flex gap-2.5 px-4 py-3" aria-label={`download of ${name}`}>
      <Mark tone={TONE[view.state]} className="mt-[5px]" label={view.state} />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline gap-x-4">
          <div className="min-w-0 flex-1 basis-72">
            <span className="text-soft">download </span>
            <span className="font-mid [overflow-wrap:anywhere]">{name}</span>
            <span className="text-faint"> → </span>
            <span>this computer</span>
          </div>
          <span className="nums whitespace-nowrap text-soft">{paceOf(view, unit)}</span>
        </div>
        {!isOver && view.pieces !== "" && (
          <div className="pt-1.5">
            <PieceMap pieces={view.pieces} />
          </div>
        )}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-1">
          <span className="nums min-w-0 flex-1 basis-64 text-12 text-faint">{factsOf(view)}</span>
          <span className="flex gap-1.5">
            {actions.map((action) => (
              <Button
                key={action}
                size="small"
                aria-label={`${WORD[action]}: download of ${name}`}
                onClick={() => void actOnDownload(view.id, action)}
              >
                {WORD[action]}
              </Button>
            ))}
          </span>
        </div>
        {words !== null && view.fault !== null && (
          <div className="pt-1 text-12 text-soft">
            {visibleText(words.says)} {words.next}
            <FaultDetails fault={view.fault} />
          </div>
        )}
      </div>
    </li>
  );
}
