"use client";
import { useEffect, useState } from "react";
import type { EventRow } from "#protocol/wire/views.ts";
import { liveStore } from "../_hub/live/live-store.ts";
import { milestoneWords } from "../_hub/events/milestone-words.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

const EVERY_MS = 5_000;

/** Says milestones to those who do not see the page: at most one sentence every few seconds. */
export function Announcer() {
  const [said, setSaid] = useState("");
  useEffect(() => {
    // What happened before the page was opened is history. Events have no ids below the newest one that has come.
    let newest: number | null = null;
    const look = (): void => {
      const { events } = liveStore.state();
      if (events === null) return;
      const first: EventRow | undefined = events[0];
      const after = newest;
      newest = first?.id ?? 0;
      if (after === null) return;
      const words = milestoneWords(events.filter(({ id }) => id > after));
      if (words !== null) setSaid(visibleText(words));
    };
    look();
    const timer = setInterval(look, EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <output aria-label="Milestones" className="sr-only">
      {said}
    </output>
  );
}
