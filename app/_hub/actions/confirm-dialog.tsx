"use client";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import type { ConfirmProps } from "./confirm-question.tsx";

/** Words for questions about removing something. */
export const REMOVE_WORDS = { button: "Remove", busy: "Removing", keep: "Keep it" } as const;

/** Asks for confirmation before an action that cannot be undone. */
export const ConfirmDialog = onDemand<ConfirmProps>(() =>
  import("./confirm-question.tsx").then((module) => module.ConfirmQuestion),
);
