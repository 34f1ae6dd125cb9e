import { isAdopted, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import type { ShownPlace, StepSource } from "#protocol/checkpoint/place.ts";
import { placeWords, stepSourceOf, stepWords } from "#protocol/checkpoint/step-words.ts";
import { branchWords } from "#protocol/history/passed-over.ts";
import { shownName } from "../../command-line/command-context.ts";
import { placeOfStored } from "../../standalone/choose-checkpoint.ts";

/** Place and origin of a checkpoint, from its manifest. */
export interface Lineage {
  place: ShownPlace;
  /** Origin of its step; null: an earlier version of the worker did not record it. */
  stepSource: StepSource | null;
  parent: { epoch: number; step: number } | null;
  branch: LineBranch | null;
  doubt: string | null;
}

const SOURCES = {
  name: "its name says the step",
  inside: "a file in it says the step",
  said: "the step was given when it was saved",
  time: "nothing in it says a step",
} as const;

/** Returns the place and lineage of a checkpoint whose names are readable. */
export function lineageOf(manifest: StoredManifest): Lineage {
  const place = placeOfStored(manifest);
  const stepSource = stepSourceOf(place) ?? null;
  if (isAdopted(manifest)) return { place, stepSource, parent: null, branch: null, doubt: null };
  const { parent, branch = null, doubt = null } = manifest;
  return { place, stepSource, parent, branch, doubt };
}

/** Returns where a checkpoint lies in its watched folder, what its epoch started from, and why it is doubtful, for people. */
export function lineageSentences(epoch: number, { place, stepSource, parent, branch, doubt }: Lineage): string[] {
  const source = stepSource === null ? "" : `; ${SOURCES[stepSource]}`;
  const root = place.root === undefined ? " in the watched folder" : "";
  return [
    `Place: ${placeWords(place)}${root}${source}`,
    `Lineage: ${startWords(epoch, { parent, branch })}`,
    ...(doubt === null ? [] : [`Doubtful: ${shownName(doubt)}`]),
  ];
}

function startWords(epoch: number, { parent, branch }: Pick<Lineage, "parent" | "branch">): string {
  if (branch !== null) return `epoch ${epoch} is a new line: ${branchWords(branch)}`;
  if (parent === null) return `the run started fresh in epoch ${epoch}`;
  return `epoch ${epoch} went on from ${stepWords(parent.step)} of epoch ${parent.epoch}`;
}
