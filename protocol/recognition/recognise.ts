import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { id } from "../base/names.ts";

/**
 * Checkpoints in a bucket that Tidemark did not write, told by the names of their objects. Nothing vouches for them: a tool
 * that copied a folder has put what its framework writes last in any order. So nothing here is ever *complete* or *safe*,
 * only assumed to be complete, and why.
 */
export const VERDICTS = ["assumed complete", "incomplete", "unknown"] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface RecognisedStep {
  /** What all of its keys begin with; of a single file the key itself. */
  place: string;
  kind: "folder" | "file";
  /** Null where no name says it: a model that was exported. */
  step: number | null;
  framework: string | null;
  verdict: Verdict;
  /** A sentence: why it is thought to be so. */
  reason: string;
  /** There is no optimizer, which the framework writes: nobody goes on training from it without asking for it. */
  isWeightsOnly?: true;
  files: number;
  sizeBytes: number;
  /** Epoch ms by the store's clock. */
  newestAt: number;
}

export interface RecognisedRun {
  /** The folder that its steps lie in. */
  place: string;
  /** Highest step first. */
  steps: RecognisedStep[];
}

export interface Recognised {
  runs: RecognisedRun[];
  /** Objects that were looked at, those that belong to no checkpoint, and those that Tidemark wrote. */
  objects: number;
  others: number;
  own: number;
  /** Checkpoints that were left out because there are more than are kept. */
  omitted: number;
}

export interface RecognisedPage extends Recognised {
  /** Places that were adopted already, with their checkpoint's id. */
  adopted: Record<string, string>;
  /** Where to go on; null when the listing was complete. */
  cursor: string | null;
  warnings: string[];
}

export const recogniseInput = z.object({
  profileId: id,
  /** Of the bucket; empty: all of it. */
  prefix: addressText(1024),
  cursor: addressText(1024).nullable(),
  /** Objects listed for one answer, at most. */
  limit: z.number().int().min(1_000).max(200_000).default(20_000),
});
