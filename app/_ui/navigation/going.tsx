"use client";
import { useRouter } from "next/navigation";
import { createContext, use, useCallback, useState, useTransition, type ReactNode } from "react";

/** Goes to another page of the hub. */
export type Go = (href: string, how?: { as?: "step" | "replacement"; scroll?: boolean }) => void;

const GoContext = createContext<Go | null>(null);
const GoingContext = createContext<string | null>(null);

/** Null outside of the frame, as at the door. */
export const useGo = (): Go | null => use(GoContext);

/** The address that was asked for and has not come yet; null while none was. */
export const useGoingTo = (): string | null => use(GoingContext);

/**
 * Knows which page was asked for until it is there, so that a press is answered at once however slow the hub is. The transition
 * ends with the navigation itself, also with one that another one overtook.
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
