"use client";
import { formatCount } from "#protocol/base/units.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { Empty } from "../../_ui/layout/panel.tsx";
import { UnreadableNames } from "../../_ui/tables/unreadable-names.tsx";
import { shortText, visibleText } from "../../_ui/text/visible-text.ts";
import { ObjectGrid } from "../folder/object-grid.tsx";
import type { RowHandling } from "../folder/use-grid-keys.ts";
import { useWalk, type Walked } from "./use-walk.ts";
import type { Place } from "../use-place.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

interface SearchListProps extends RowHandling {
  profileId: string;
  place: Place;
}

const NOTHING = (): void => undefined;

/** Lists matches below a folder while the search runs, with its progress. */
export function SearchList({ profileId, place, ...handling }: SearchListProps) {
  const { walked, stop, goOn } = useWalk({ profileId, prefix: place.folder, words: place.words });
  const { objects, state, fault, unreadable } = walked;
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
        <output className="nums block min-w-0 flex-1 basis-64 text-soft">{sentence(walked)}</output>
        {state === "walking" && (
          <Button size="small" onClick={stop}>
            Stop
          </Button>
        )}
        {(state === "stopped" || state === "paused") && (
          <Button size="small" onClick={goOn}>
            Look further
          </Button>
        )}
      </div>
      {fault !== null && (
        <div className="p-3">
          <FaultNote fault={fault} onRetry={goOn} />
        </div>
      )}
      {objects.length > 0 ? (
        <ObjectGrid
          label="Found objects"
          count={objects.length}
          rowAt={(index) => {
            const object = objects[index];
            return object === undefined ? null : { kind: "object", ...object };
          }}
          onLook={NOTHING}
          prefix={place.folder}
          {...handling}
          openKey={place.key}
          sort={null}
        />
      ) : (
        state === "done" && <Empty title={`No name below has “${visibleText(place.words)}” in it`} />
      )}
      <UnreadableNames {...unreadable} />
    </>
  );
}

function sentence({ matching, looked, through, state, objects }: Walked): string {
  const found = `${formatCount(matching.objects)} found, ${formatBytes(matching.bytes)}`;
  const shown = objects.length < matching.objects ? ` (the first ${formatCount(objects.length)} are shown)` : "";
  const where = state === "done" || through === null ? "" : `, as far as ${shortText(through, 48)}`;
  const far = `looked at ${formatCount(looked.objects)} objects in ${formatCount(looked.requests)} requests${where}`;
  const end = { walking: "…", stopped: ", then stopped.", paused: ".", done: ": all of it.", failed: "." }[state];
  return `${found}${shown}; ${far}${end}`;
}
