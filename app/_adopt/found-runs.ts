import type { RecognisedPage, RecognisedRun, RecognisedStep } from "#protocol/recognition/recognise.ts";

/** Merges checkpoints of other tools, found in a bucket, from the pages of a listing. */

/** Merges the runs of all pages. A run can continue on the next page, because pages end between checkpoints. */
export function mergeRuns(pages: readonly RecognisedPage[]): RecognisedRun[] {
  const runs = new Map<string, RecognisedStep[]>();
  for (const { place, steps } of pages.flatMap((page) => page.runs))
    runs.set(place, [...(runs.get(place) ?? []), ...steps]);
  return [...runs].map(([place, steps]) => ({ place, steps }));
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Returns why a text cannot be a run name; null when it can. */
export const whyNoRun = (name: string): string | null =>
  NAME.test(name) ? null : "A run's name has 1 to 64 letters, digits, '.', '_' or '-'.";

/** Suggests a run name from the folder of its steps, or from the bucket when they are at its top. */
export function suggestRun(place: string, bucket: string): string {
  const folders = place.split("/").filter((name) => name !== "");
  const name = (folders.at(-1) ?? bucket).replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  return name.slice(0, 64) || "adopted";
}

export const VERDICT_FILTERS = [
  { id: "all", label: "All" },
  { id: "assumed complete", label: "Assumed complete" },
  { id: "incomplete", label: "Incomplete" },
  { id: "unknown", label: "Unknown" },
] as const;

/** Returns the checkpoints that one click adopts: assumed complete, not adopted yet, and the first with their step. */
export function adoptable(
  steps: readonly RecognisedStep[],
  adopted: Readonly<Record<string, string>>,
): RecognisedStep[] {
  const taken = new Set<number>();
  return steps.filter(({ verdict, step, place }) => {
    if (verdict !== "assumed complete" || step === null || taken.has(step)) return false;
    taken.add(step);
    return !Object.hasOwn(adopted, place);
  });
}
