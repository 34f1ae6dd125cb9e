"use client";
import { useEffect, useRef } from "react";
import { visibleText } from "../text/visible-text.ts";

/** Scrollable areas must be reachable by keyboard. */
const SCROLLS = { tabIndex: 0 } as const;
/** Distance from the end, in pixels, within which the view follows new output. */
const NEAR_PX = 24;

/** Shows untrusted text and follows its end until somebody scrolls up. Tabs stay tabs. */
export function LastLines({ label, text }: { label: string; text: string }) {
  const area = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  // Without dependencies: this component only renders when the text changes.
  useEffect(() => {
    const element = area.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  });
  return (
    <section
      ref={area}
      aria-label={label}
      {...SCROLLS}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        follows.current = scrollHeight - clientHeight - scrollTop < NEAR_PX;
      }}
      className="dim-when-stale h-64 overflow-y-auto bg-sunk px-4 py-2"
    >
      {text === "" ? (
        <p className="text-soft">No output yet.</p>
      ) : (
        <pre className="font-mono text-12 [overflow-wrap:anywhere] whitespace-pre-wrap">{shownLines(text)}</pre>
      )}
    </section>
  );
}

const shownLines = (text: string): string =>
  text
    .split(/([\n\t])/)
    .map((part) => (part === "\n" || part === "\t" ? part : visibleText(part)))
    .join("");
