import { useEffect, useRef, type RefObject } from "react";

/** Keys by which a person goes to another control. */
const MOVES = /^(?:Tab|Arrow)/;

/**
 * Focuses a button once, as soon as it is enabled, so that Enter presses it. Not after a person has gone to another control:
 * that would close the list that is open there.
 */
export function useFocusOnce(isReady: boolean): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null);
  const isOver = useRef(false);
  useEffect(() => {
    const take = (event: Event): void => {
      if (!(event instanceof KeyboardEvent) || MOVES.test(event.key)) isOver.current = true;
    };
    const options = { capture: true };
    document.addEventListener("pointerdown", take, options);
    document.addEventListener("keydown", take, options);
    return () => {
      document.removeEventListener("pointerdown", take, options);
      document.removeEventListener("keydown", take, options);
    };
  }, []);
  useEffect(() => {
    if (!isReady || isOver.current) return;
    isOver.current = true;
    button.current?.focus();
  }, [isReady]);
  return button;
}
