"use client";
import { useEffect, useRef, useState, type RefObject } from "react";
import { hear, newestOf, send, startEcho, type Echo } from "./own-echo.ts";

/** What is typed settles for so long before it is applied. */
const SETTLE_MS = 200;

interface Typing {
  typed: string;
  echo: Echo;
}

interface TypedText {
  typed: string;
  type: (text: string) => void;
  /** For the field itself: what was typed before the page worked is taken from there. */
  field: RefObject<HTMLInputElement | null>;
}

/**
 * The text of a field whose value is kept elsewhere and comes back late, as from the address of the page. What is typed is never
 * written over by the answer to what was typed before it; a change of somebody else is shown.
 */
export function useTypedText(value: string, onChange: (text: string) => void): TypedText {
  const [state, setState] = useState<Typing>(() => ({ typed: value, echo: startEcho(value) }));
  const heard = hear(state.echo, value);
  if (heard.echo !== state.echo) setState({ typed: heard.isForeign ? value : state.typed, echo: heard.echo });
  const field = useRef<HTMLInputElement>(null);
  const tell = useRef(onChange);
  useEffect(() => {
    // A page that is drawn again and again, as live ones are, must not keep the text from settling.
    tell.current = onChange;
  });
  const type = (typed: string): void => setState((old) => ({ ...old, typed }));
  useEffect(() => {
    const typedBefore = field.current?.value;
    if (typedBefore !== undefined)
      setState((old) => (old.typed === typedBefore ? old : { ...old, typed: typedBefore }));
    // Back and Forward are somebody else's changes, whatever is still waited for.
    const forget = (): void => setState((old) => ({ ...old, echo: startEcho(old.echo.heard) }));
    window.addEventListener("popstate", forget);
    return () => window.removeEventListener("popstate", forget);
  }, []);
  const { typed } = state;
  const isTold = newestOf(state.echo) === typed;
  useEffect(() => {
    if (isTold) return;
    const timer = setTimeout(() => {
      setState((old) => ({ ...old, echo: send(old.echo, typed) }));
      tell.current(typed);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [typed, isTold]);
  return { typed, type, field };
}
