"use client";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import type { ConfirmProps } from "./confirm-question.tsx";

/** For what is there and will not be. */
export const REMOVE_WORDS = { button: "Remove", busy: "Removing", keep: "Keep it" } as const;

/** Asks before what cannot be undone. */
export const ConfirmDialog = onDemand<ConfirmProps>(() =>
  import("./confirm-question.tsx").then((module) => module.ConfirmQuestion),
);
