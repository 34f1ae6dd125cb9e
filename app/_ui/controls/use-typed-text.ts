"use client";
import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { hear, newestOf, send, startEcho } from "./own-echo.ts";

/** Pause after the last key before the text is applied, in milliseconds. */
const SETTLE_MS = 200;

interface TypedText {
  typed: string;
  type: (text: string) => void;
  /** Ref of the field: text typed before hydration is read from it. */
  field: RefObject<HTMLInputElement | null>;
}

/**
 * Keeps the text of a field whose value is stored elsewhere and returns late, as from the page's address. An echo of earlier
 * typing never overwrites newer typing; a foreign change is shown.
 *
 * Values are compared in effects, never while rendering. React discards renderings that a key press interrupts, and state set
 * in a discarded rendering would get the next letter appended.
 */
export function useTypedText(value: string, onChange: (text: string) => void): TypedText {
  const [typed, type] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  const echo = useRef(startEcho(value));
  const tell = useRef(onChange);
  useLayoutEffect(() => {
    // A ref, because a new callback at each rendering of a live page would restart the pause below.
    tell.current = onChange;
  });
  useLayoutEffect(() => {
    const heard = hear(echo.current, value);
    echo.current = heard.echo;
    if (heard.isForeign) type(value);
  }, [value]);
  useEffect(() => {
    const typedBefore = field.current?.value;
    if (typedBefore !== undefined) type(typedBefore);
    // Back and Forward count as foreign changes, also while echoes are still outstanding.
    const forget = (): void => {
      echo.current = startEcho(echo.current.heard);
    };
    window.addEventListener("popstate", forget);
    return () => window.removeEventListener("popstate", forget);
  }, []);
  useEffect(() => {
    if (newestOf(echo.current) === typed) return;
    const timer = setTimeout(() => {
      if (newestOf(echo.current) === typed) return;
      echo.current = send(echo.current, typed);
      tell.current(typed);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return { typed, type, field };
}
