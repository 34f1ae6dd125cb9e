"use client";
import { ResumeUploads } from "../_browser-transfers/resume-uploads.tsx";
import { Announcer } from "./announcer.tsx";
import { PlacesAhead } from "./places-ahead.tsx";

/** What every page does besides what it shows. */
export function Background() {
  return (
    <>
      <ResumeUploads />
      <Announcer />
      <PlacesAhead />
    </>
  );
}
