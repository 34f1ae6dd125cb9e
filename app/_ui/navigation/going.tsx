"use client";
import { useRouter } from "next/navigation";
import { createContext, use, useCallback, useState, useTransition, type ReactNode } from "react";

/** Navigates to another page of the hub. */
export type Go = (href: string, how?: { as?: "step" | "replacement"; scroll?: boolean }) => void;

const GoContext = createContext<Go | null>(null);
const GoingContext = createContext<string | null>(null);

/** Returns the navigation function; null outside of the frame, as on the sign-in pages. */
export const useGo = (): Go | null => use(GoContext);

/** Returns the address of a navigation in progress; null while there is none. */
export const useGoingTo = (): string | null => use(GoingContext);

/**
 * Tracks the target of a navigation until its page is shown, so that a click is answered at once even when the hub is slow.
 * The transition ends with the navigation, also when a later navigation replaced it.
 */
export function GoingProvider({ children }: { children: ReactNode }) {
  const router = useRouter();
  const [isGoing, start] = useTransition();
  const [to, setTo] = useState("");
  const go = useCallback<Go>(
    (href, { as = "step", scroll = true } = {}) => {
      setTo(href);
      start(() => (as === "step" ? router.push(href, { scroll }) : router.replace(href, { scroll })));
    },
    [router],
  );
  return (
    <GoContext value={go}>
      <GoingContext value={isGoing ? to : null}>{children}</GoingContext>
    </GoContext>
  );
}
