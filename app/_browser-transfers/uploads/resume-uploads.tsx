"use client";
import { useEffect } from "react";
import { usePerson } from "../../_hub/session/person.tsx";
import { hasUnfinished } from "./unfinished.ts";

/** Resumes the uploads of this browser on every page. It loads their script only when there are unfinished uploads. */
export function ResumeUploads() {
  const personId = usePerson()?.id ?? null;
  useEffect(() => {
    if (personId === null || !hasUnfinished()) return;
    import("./use-upload-manager.ts")
      .then(({ openUploadManager }) => openUploadManager(personId))
      .catch(() => undefined);
  }, [personId]);
  return null;
}
