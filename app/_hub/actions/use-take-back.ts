"use client";
import { useQueryClient } from "@tanstack/react-query";
import { say } from "../../_ui/feedback/toast.tsx";
import { faultOf, wordsOf } from "../faults/fault-of.ts";

/**
 * The way back that a toast offers after something was changed at the hub: what is on the page is asked for again, and
 * whether it worked is said, also when the dialog that changed it is long closed.
 */
export function useTakeBack(topic: string) {
  const client = useQueryClient();
  return (back: () => Promise<unknown>, text: string) => (): void => {
    back().then(
      () => {
        void client.invalidateQueries({ queryKey: [topic] });
        say("quiet", text);
      },
      (error: unknown) => say("lost", wordsOf(faultOf(error)).says),
    );
  };
}
