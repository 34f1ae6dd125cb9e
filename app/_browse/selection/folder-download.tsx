"use client";
import { DownloadDialog } from "../../_browser-transfers/downloads/download-dialog.tsx";
import type { Place } from "../use-place.ts";
import { wantedOf } from "./read-selection.ts";
import type { Selection } from "./selection.ts";

interface FolderDownloadProps {
  profileId: string;
  place: Place;
  /** Null downloads all of the folder that matches the filter. */
  selection: Selection | null;
  onClose: () => void;
}

/** Downloads the selection, or the current folder. */
export function FolderDownload({ profileId, place, selection, onClose }: FolderDownloadProps) {
  const wanted =
    selection === null
      ? ({ kind: "prefix", profileId, prefix: place.folder + place.filter } as const)
      : wantedOf(selection, { profileId, from: place.folder });
  return <DownloadDialog wanted={wanted} onClose={onClose} />;
}
