"use client";
import { useEffect, useState } from "react";
import type { EventRow } from "#protocol/wire/views.ts";
import { liveStore } from "../_hub/live/live-store.ts";
import { milestoneWords } from "../_hub/events/milestone-words.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

const EVERY_MS = 5_000;

/** Announces milestones to screen readers: at most one sentence every five seconds. */
export function Announcer() {
  const [said, setSaid] = useState("");
  useEffect(() => {
    // Events from before the page was opened are not announced. Later events always have higher ids.
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
