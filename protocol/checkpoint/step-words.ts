import type { ShownPlace, StepSource } from "./place.ts";
import { formatCount } from "../base/units.ts";
import { visibleText } from "../base/visible-text.ts";

/**
 * A step without a recorded origin between these is shown as the time of writing that it most likely is, in seconds since 1970:
 * 2025 to 2040. Nothing was kept before, and few trainings count that far.
 */
const SHOWN_AS_TIME = { from: Date.UTC(2025, 0) / 1_000, to: Date.UTC(2040, 0) / 1_000 } as const;

/** Decides for every sentence and page whether a step is shown as a time. */
const isShownAsTime = (step: number, stepFrom: StepSource | undefined): boolean =>
  stepFrom === undefined ? step >= SHOWN_AS_TIME.from && step < SHOWN_AS_TIME.to : stepFrom === "time";

const timeOf = (step: number): string => `${new Date(step * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** Returns a step for a table: its number, or `2026-11-28 03:15:20 UTC` of one that stands for the time of writing. */
export const shownStep = (step: number, stepFrom?: StepSource): string =>
  isShownAsTime(step, stepFrom) ? timeOf(step) : formatCount(step);

/** Returns a step in words. A step that stands for the time of writing becomes `the state of 2026-11-28 03:15:20 UTC`. */
export const stepWords = (step: number, stepFrom?: StepSource): string =>
  isShownAsTime(step, stepFrom) ? `the state of ${timeOf(step)}` : `step ${formatCount(step)}`;

/** Returns the words of a step for the beginning of a sentence. */
export const stepTitle = (step: number, stepFrom?: StepSource): string => capital(stepWords(step, stepFrom));

/** Returns a step in words for events and Faults, where a number has no separators. */
export const stepText = (step: number | bigint, stepFrom?: StepSource): string =>
  isShownAsTime(Number(step), stepFrom) ? `the state of ${timeOf(Number(step))}` : `step ${step}`;

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

const FIRST_TIME_STEP = 1_000_000_000;
const DAY_MS = 86_400_000;

/**
 * Returns whether a step stands for the time of writing, in seconds since 1970: that of a checkpoint whose name and content say
 * no step. It cannot be compared with steps of training. Without a recorded origin, as from older workers, a step that is its
 * own time of writing counts as one. `at`: when the checkpoint was written, epoch ms.
 */
export const isTimeStep = ({ step, at, source }: { step: number; at: number; source?: StepSource | undefined }) =>
  source === undefined ? step >= FIRST_TIME_STEP && Math.abs(step * 1_000 - at) < DAY_MS : source === "time";

/** Returns the origin of a checkpoint's step; undefined where an older worker did not record it. */
export const stepSourceOf = (
  place: { stepFrom?: StepSource | undefined; stepSource?: StepSource | undefined } | null | undefined,
): StepSource | undefined => place?.stepSource ?? place?.stepFrom;

/** Returns the path of a checkpoint below its watched folder, below the name of that folder when its run has several. */
export const pathWithRoot = ({ path, root }: Pick<ShownPlace, "path" | "root">): string =>
  root === undefined ? path : `${root.name}/${path}`;

const KINDS = { folder: "the folder", file: "the file", files: "several files, first" } as const;

/** Says where a checkpoint lies in its watched folder: `the file last.ckpt in checkpoints`. Escapes names of strangers. */
export const placeWords = ({ path, kind, root }: Pick<ShownPlace, "path" | "kind" | "root">): string =>
  `${KINDS[kind]} ${visibleText(path)}${root === undefined ? "" : ` in ${visibleText(root.name)}`}`;
