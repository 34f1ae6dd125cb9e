import type { RunHomesView } from "#protocol/wire/homes.ts";
import { formatCount } from "#protocol/base/units.ts";

/** Returns how many checkpoints lack a copy. */
export function behindWords({ homes, behind }: Pick<RunHomesView, "homes" | "behind">): string {
  if (homes.length === 1) return "one bucket";
  const { checkpoints, newest } = behind;
  if (checkpoints === 0) return `${homes.length} buckets, no copy missing`;
  const which = newest ? ", the newest among them" : "";
  return `${formatCount(checkpoints)} ${checkpoints === 1 ? "checkpoint lacks a copy" : "checkpoints lack a copy"}${which}`;
}

export const copiesChoices = (homes: number): { value: string; label: string }[] => [
  { value: "all", label: "Each checkpoint in all locations" },
  ...Array.from({ length: homes - 1 }, (_, index) => ({
    value: String(index + 1),
    label: index === 0 ? "In the nearest location alone" : `In the nearest ${index + 1} locations`,
  })),
];

/** Returns the list with one entry moved up (-1) or down (1). */
export function moved(ids: readonly string[], index: number, by: -1 | 1): string[] {
  const next = [...ids];
  const [one] = next.splice(index, 1);
  if (one !== undefined) next.splice(index + by, 0, one);
  return next;
}
