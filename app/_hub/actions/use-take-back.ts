"use client";
import { useQueryClient } from "@tanstack/react-query";
import { say } from "../../_ui/feedback/toast.tsx";
import { faultOf, wordsOf } from "../faults/fault-of.ts";

/**
 * Returns a maker of undo handlers for toasts. An undo handler calls `back`, refetches the queries of `topic`, and shows a
 * toast with the outcome. It also works after the dialog that made the change is closed.
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
