"use client";
import { useState } from "react";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";

const UploadDialog = onDemand(() => import("./upload-dialog.tsx").then((module) => module.UploadDialog));

interface UploadButtonProps {
  /** Null or left out: the person chooses. */
  profileId?: string | null;
  /** Where the files shall go to begin with; ends with `/`, or is empty. */
  prefix?: string;
  label?: string;
}

/** Opens the dialog that takes files for a bucket. */
export function UploadButton({ profileId = null, prefix = "", label }: UploadButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const whyNot = useWhyNot("operator");
  return (
    <>
      <Button
        size="small"
        disabled={whyNot !== null}
        title={whyNot ?? undefined}
        aria-label={label}
        onClick={() => setOpen(true)}
      >
        Upload…
      </Button>
      {isOpen && <UploadDialog profileId={profileId} prefix={prefix} onClose={() => setOpen(false)} />}
    </>
  );
}
