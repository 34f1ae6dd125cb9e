import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { id } from "../base/names.ts";

/**
 * Checkpoints in a bucket that another tool wrote, identified by the names of their objects. Nothing guarantees that they
 * are complete: a tool that copies a folder may copy the framework's last file first. So they are never *complete* or
 * *safe*, only assumed to be complete, with a reason.
 */
export const VERDICTS = ["assumed complete", "incomplete", "unknown"] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface RecognisedStep {
  /** Common prefix of its keys; for a single file the key itself. */
  place: string;
  kind: "folder" | "file";
  /** Null when no name contains it, as in an exported model. */
  step: number | null;
  framework: string | null;
  verdict: Verdict;
  /** One sentence with the reason of the verdict. */
  reason: string;
  /** Present when the optimizer that this framework writes is missing: training continues from it only on request. */
  isWeightsOnly?: true;
  files: number;
  sizeBytes: number;
  /** Epoch ms by the store's clock. */
  newestAt: number;
}

export interface RecognisedRun {
  /** Folder that contains its steps. */
  place: string;
  /** Highest step first. */
  steps: RecognisedStep[];
}

export interface Recognised {
  runs: RecognisedRun[];
  /** Number of objects read, of those that belong to no checkpoint, and of those that Tidemark wrote. */
  objects: number;
  others: number;
  own: number;
  /** Checkpoints left out because of the limit on their number. */
  omitted: number;
}

export interface RecognisedPage extends Recognised {
  /** Places that are already registered as external checkpoints, with the checkpoint's id. */
  adopted: Record<string, string>;
  /** Position to continue from; null when the listing was complete. */
  cursor: string | null;
  warnings: string[];
}

export const recogniseInput = z.object({
  profileId: id,
  /** Prefix in the bucket; empty for all of it. */
  prefix: addressText(1024),
  cursor: addressText(1024).nullable(),
  /** Largest number of objects listed for one answer. */
  limit: z.number().int().min(1_000).max(200_000).default(20_000),
});
