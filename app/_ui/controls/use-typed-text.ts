"use client";
import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { hear, newestOf, send, startEcho } from "./own-echo.ts";

/** What is typed settles for so long before it is applied. */
const SETTLE_MS = 200;

interface TypedText {
  typed: string;
  type: (text: string) => void;
  /** For the field itself: what was typed before the page worked is taken from there. */
  field: RefObject<HTMLInputElement | null>;
}

/**
 * Keeps the text of a field whose value is kept elsewhere and comes back late, as from the address of the page. What is typed is
 * never written over by the answer to what was typed before it; a change of somebody else is shown.
 *
 * Values are compared in effects, never while rendering: React begins renderings that it throws away when a key is pressed, and
 * a state that such a rendering sets is what the next letter would be added to.
 */
export function useTypedText(value: string, onChange: (text: string) => void): TypedText {
  const [typed, type] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  const echo = useRef(startEcho(value));
  const tell = useRef(onChange);
  useLayoutEffect(() => {
    // A page that is drawn again and again, as live ones are, must not keep the text from settling.
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
    // Back and Forward are somebody else's changes, whatever is still waited for.
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
