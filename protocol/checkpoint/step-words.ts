import type { StepSource } from "./place.ts";
import { formatCount } from "../base/units.ts";

/** Returns a step in words. A step that stands for the time of writing becomes `the state of 2026-11-28 03:15:20 UTC`. */
export function stepWords(step: number, stepFrom?: StepSource): string {
  if (stepFrom !== "time") return `step ${formatCount(step)}`;
  return `the state of ${new Date(step * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
