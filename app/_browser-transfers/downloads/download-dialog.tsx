"use client";
import { useEffect, useState } from "react";
import type { FaultData } from "#protocol/faults/fault.ts";
import { countOf } from "../../_browse/jobs/job-words.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { Dialog } from "../../_ui/layout/dialog.tsx";
import { formatBytes } from "../../_ui/text/sizes.ts";
import { say } from "../../_ui/feedback/toast.tsx";
import { UnreadableNames } from "../../_ui/tables/unreadable-names.tsx";
import { shortText } from "../../_ui/text/visible-text.ts";
import { startDownload } from "./downloads.ts";
import { listWanted, nameOf, type FoundSum, type ListedFiles, type Wanted } from "./list-wanted.ts";

interface DownloadDialogProps {
  wanted: Wanted;
  onClose: () => void;
}

const sumOf = ({ files }: ListedFiles): FoundSum => ({
  objects: files.length,
  bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
});

/** Shows how many objects and bytes a download has, and asks. Nothing is downloaded before the button is pressed. */
export function DownloadDialog({ wanted, onClose }: DownloadDialogProps) {
  // The selection may change behind the dialog, which keeps the one it was opened with.
  const [asked] = useState(wanted);
  const [found, setFound] = useState<FoundSum>({ objects: 0, bytes: 0 });
  const [listed, setListed] = useState<ListedFiles | null>(null);
  const [fault, setFault] = useState<FaultData | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    listWanted(asked, { signal, onFound: setFound }).then(
      (all) => {
        if (signal.aborted) return;
        setFound(sumOf(all));
        setListed(all);
      },
      (error: unknown) => {
        if (!signal.aborted) setFault(faultOf(error));
      },
    );
    return () => stop.abort();
  }, [asked]);
  const start = (): void => {
    setBusy(true);
    startDownload(asked, listed)
      .then((isBegun) => {
        if (!isBegun) return;
        say("moving", "Downloading. It is shown under Transfers; keep this page open.");
        onClose();
      })
      .catch((error: unknown) => setFault(faultOf(error)))
      .finally(() => setBusy(false));
  };
  const name = nameOf(asked);
  const sum = `${countOf(found.objects)}, ${formatBytes(found.bytes)}`;
  const gone = asked.kind === "chosen" && asked.prefixes.length === 0 ? asked.keys.length - found.objects : 0;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Download objects"
      intro={
        asked.kind === "object"
          ? "The object goes from the bucket straight to this computer."
          : `The objects go from the bucket straight to this computer, as one tar archive: ${shortText(name, 80)}.`
      }
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" disabled={listed === null || found.objects === 0 || isBusy} onClick={start}>
            {listed === null ? "Counting" : `Download ${sum}`}
          </Button>
        </>
      }
    >
      {fault !== null ? (
        <FaultNote fault={fault} />
      ) : (
        <output className="nums block text-15 font-semibold">{listed === null ? `${sum} so far…` : sum}</output>
      )}
      {listed !== null && gone > 0 && <p className="nums pt-1 text-risk">{countOf(gone)} are not there any more.</p>}
      {listed !== null && <UnreadableNames first={listed.unreadable} />}
    </Dialog>
  );
}
