"use client";
import { useEffect, useRef } from "react";
import { ResumeUploads } from "../_browser-transfers/uploads/resume-uploads.tsx";
import { useLiveState } from "../_hub/live/live.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { Announcer } from "./announcer.tsx";
import { PlacesAhead } from "./places-ahead.tsx";

/** Shows a toast when the live link is lost and when it is back. The banner stays in between. */
function useLinkWords(): void {
  const state = useLiveState();
  const before = useRef(state);
  useEffect(() => {
    if (before.current === "stale" && state === "live") say("safe", "Live again.");
    if (before.current === "live" && state === "stale") say("risk", "The page is not live any more.");
    before.current = state;
  }, [state]);
}

/** Runs the invisible tasks of every page. */
export function Background() {
  useLinkWords();
  return (
    <>
      <ResumeUploads />
      <Announcer />
      <PlacesAhead />
    </>
  );
}
