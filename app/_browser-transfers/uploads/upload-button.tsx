"use client";
import { useState } from "react";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";

const UploadDialog = onDemand(() => import("./upload-dialog.tsx").then((module) => module.UploadDialog));

interface UploadButtonProps {
  /** Bucket profile; null or absent lets the person choose. */
  profileId?: string | null;
  /** Initial target folder: empty, or ends with `/`. */
  prefix?: string;
  label?: string;
}

/** Shows a button that opens the upload dialog. */
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
