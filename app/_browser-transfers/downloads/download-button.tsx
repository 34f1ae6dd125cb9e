"use client";
import { useState } from "react";
import { faultOf, wordsOf } from "../../_hub/faults/fault-of.ts";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { say } from "../../_ui/feedback/toast.tsx";
import type { Wanted } from "./list-wanted.ts";

interface DownloadButtonProps {
  wanted: Wanted;
  /** Accessible name where the button text alone does not say what is downloaded. */
  label?: string;
  size?: "usual" | "small";
  disabled?: boolean;
}

/** Downloads a file, or a folder as one tar archive, from the bucket directly to this browser. */
export function DownloadButton({ wanted, label, size = "small", disabled = false }: DownloadButtonProps) {
  const isOfCheckpoint = wanted.kind === "checkpoint" || wanted.kind === "checkpoint file";
  const whyNot = useWhyNot(isOfCheckpoint ? "viewer" : "operator");
  const [isBusy, setBusy] = useState(false);
  const start = (): void => {
    setBusy(true);
    import("./downloads.ts")
      .then(({ startDownload }) => startDownload(wanted))
      .then((isBegun) => {
        if (isBegun) say("moving", "Downloading. It is shown under Transfers; keep this page open.");
      })
      .catch((error: unknown) => say("lost", wordsOf(faultOf(error)).says))
      .finally(() => setBusy(false));
  };
  return (
    <Button
      size={size}
      disabled={disabled || isBusy || whyNot !== null}
      title={whyNot ?? undefined}
      aria-label={label}
      onClick={start}
    >
      Download
    </Button>
  );
}
