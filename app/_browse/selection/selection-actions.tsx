"use client";
import { useState } from "react";
import type { BucketAction } from "#protocol/buckets/bucket-jobs.ts";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import { chosenKeys, versionsPlace, wantedOf, whyNotShare } from "./read-selection.ts";
import type { Selection } from "./selection.ts";
import type { Place } from "../use-place.ts";

const PlanDialog = onDemand(() => import("../jobs/plan-dialog.tsx").then((module) => module.PlanDialog));
const ShareDialog = onDemand(() => import("../detail/share-dialog.tsx").then((module) => module.ShareDialog));
const DownloadDialog = onDemand(() =>
  import("../../_browser-transfers/downloads/download-dialog.tsx").then((module) => module.DownloadDialog),
);

interface SelectionActionsProps {
  profileId: string;
  place: Place;
  selection: Selection;
  go: (to: Partial<Place>, as: "step") => void;
  /** Called when a job for the selection was started, which clears the selection. */
  onStarted: () => void;
}

/** Shows the actions on a selection. Each states the number of objects and bytes before it starts. */
export function SelectionActions({ profileId, place, selection, go, onStarted }: SelectionActionsProps) {
  const [open, setOpen] = useState<BucketAction | "download" | "share" | null>(null);
  const whyNotCopy = useWhyNot("operator");
  const whyNotChange = useWhyNot("admin");
  const close = (): void => setOpen(null);
  const { keys, prefixes } = chosenKeys(selection);
  const items = [...prefixes.map((prefix) => ({ prefix })), ...keys.map((key) => ({ key }))];
  const versions = versionsPlace(selection);
  const actions = [
    { id: "download", label: "Download…", whyNot: whyNotCopy },
    { id: "copy", label: "Copy…", whyNot: whyNotCopy },
    { id: "move", label: "Move…", whyNot: whyNotChange },
    { id: "share", label: "Share…", whyNot: whyNotCopy ?? whyNotShare(selection) },
  ] as const;
  return (
    <>
      {actions.map(({ id, label, whyNot }) => (
        <Button key={id} size="small" whyNot={whyNot} onClick={() => setOpen(id)}>
          {label}
        </Button>
      ))}
      <Button
        size="small"
        whyNot={versions === null ? "Choose one object or folder to see its older versions" : null}
        onClick={() => versions !== null && go(versions, "step")}
      >
        Older versions
      </Button>
      <Button size="small" whyNot={whyNotChange} onClick={() => setOpen("delete")}>
        Delete…
      </Button>
      {open === "download" && (
        <DownloadDialog wanted={wantedOf(selection, { profileId, from: place.folder })} onClose={close} />
      )}
      {open === "share" && <ShareDialog profileId={profileId} keys={keys} onClose={close} />}
      {(open === "copy" || open === "move" || open === "delete") && items.length > 0 && (
        <PlanDialog
          profileId={profileId}
          action={open}
          from={place.folder}
          items={items}
          onClose={close}
          onStarted={onStarted}
        />
      )}
    </>
  );
}
