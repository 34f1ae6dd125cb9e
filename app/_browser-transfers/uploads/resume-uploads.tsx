"use client";
import { useEffect } from "react";
import { usePerson } from "../../_hub/session/person.tsx";
import { hasUnfinished } from "./unfinished.ts";

/** On every page: goes on with the uploads of this browser. Loads nothing of them where there are none. */
export function ResumeUploads() {
  const personId = usePerson()?.id ?? null;
  useEffect(() => {
    if (personId === null || !hasUnfinished()) return;
    import("./use-desk.ts").then(({ openDesk }) => openDesk(personId)).catch(() => undefined);
  }, [personId]);
  return null;
}
