"use client";
import { formatCount } from "#protocol/base/units.ts";
import { FaultDetails } from "../../_hub/faults/fault-note.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { repeatedWords, unreadableWords } from "#protocol/checkpoint/unreadable-names.ts";
import { useWalk } from "./use-walk.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

/** Counts objects and bytes below a folder by listing all of them, until done or stopped. */
export function SumUp({ profileId, folder, onClose }: { profileId: string; folder: string; onClose: () => void }) {
  const { walked, stop, goOn } = useWalk({ profileId, prefix: folder, words: "" });
  const { looked, state, fault, unreadable, repeated } = walked;
  const end = {
    walking: "so far…",
    stopped: "until it was stopped",
    paused: "so far",
    done: "in all",
    failed: "until it failed",
  }[state];
  return (
    <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
      <output className="nums block min-w-0 flex-1 basis-64 text-soft">
        Below here: {formatCount(looked.objects)} objects, {formatBytes(looked.bytes)} {end} (
        {formatCount(looked.requests)} requests)
        {unreadable.count > 0 && (
          <span className="text-risk"> {unreadableWords(unreadable.first, unreadable.count)}, and in no sum.</span>
        )}
        {repeated > 0 && <span> {repeatedWords(repeated)}</span>}
        {fault !== null && <FaultDetails fault={fault} />}
      </output>
      {state === "walking" ? (
        <Button size="small" onClick={stop}>
          Stop
        </Button>
      ) : (
        state !== "done" && (
          <Button size="small" onClick={goOn}>
            Go on
          </Button>
        )
      )}
      <Button size="small" look="quiet" onClick={onClose}>
        Close
      </Button>
    </div>
  );
}
