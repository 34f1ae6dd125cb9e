import type { RecognisedPage, RecognisedRun, RecognisedStep } from "#protocol/recognition/recognise.ts";

/** What was found in a bucket, put together from its pages. */

/** Pages end between checkpoints, so a run may go on in the next one. */
export function mergeRuns(pages: readonly RecognisedPage[]): RecognisedRun[] {
  const runs = new Map<string, RecognisedStep[]>();
  for (const { place, steps } of pages.flatMap((page) => page.runs))
    runs.set(place, [...(runs.get(place) ?? []), ...steps]);
  return [...runs].map(([place, steps]) => ({ place, steps }));
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Why this cannot be the name of a run; null when it can. */
export const whyNoRun = (name: string): string | null =>
  NAME.test(name) ? null : "A run's name has 1 to 64 letters, digits, '.', '_' or '-'.";

/** A run's name from the folder its steps lie in; from the bucket where they lie at its top. */
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

/** Those that one press adopts together: assumed complete, with a step that no other of them has, not adopted yet. */
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
