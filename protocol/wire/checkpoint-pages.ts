import * as z from "zod";
import { checkpointState, type CheckpointState } from "../checkpoint/checkpoint.ts";
import { id, runName, step } from "../base/names.ts";
import type { CheckpointFileView, CheckpointRow } from "./views.ts";

/** Long lists of checkpoints and of their files, a page at a time. */

/** So many rows a run's page begins with; more come with `checkpoints.list`. */
export const CHECKPOINTS_AT_FIRST = 100;

export const listCheckpointsInput = z.object({
  run: runName,
  /** None: all. */
  states: z.array(checkpointState).max(5).default([]),
  /** Only those kept by hand in this way. */
  kept: z.enum(["pinned", "tagged"]).nullable().default(null),
  /** Only those of these steps, both ends among them. */
  steps: z.object({ from: step, to: step }).nullable().default(null),
  /** Id of the last row of the page before. */
  cursor: id.nullable().default(null),
  limit: z.number().int().min(1).max(200).default(CHECKPOINTS_AT_FIRST),
});

/** Newest first. */
export interface CheckpointPage {
  rows: CheckpointRow[];
  /** Null when there are no more. */
  nextCursor: string | null;
}

/** So many checkpoints a search finds at most. */
export const MOST_FOUND = 20;

export const searchCheckpointsInput = z.object({
  /** A step with or without words of its run ("llama 1200", "1200"), or words of a tag. */
  words: z.string().max(128),
});

export interface FoundCheckpoint {
  id: string;
  run: string;
  step: number;
  state: CheckpointState;
  /** The tag that was found; null where the step was. */
  tag: string | null;
  /** Milliseconds since 1970. */
  capturedAt: number;
}

export const listFilesInput = z.object({
  checkpointId: id,
  /** Part of a path, in any case of its letters. */
  words: z.string().max(256).default(""),
  sort: z.enum(["path", "size"]).default("path"),
  offset: z.number().int().min(0).max(50_000).default(0),
  limit: z.number().int().min(1).max(1_000).default(500),
});

export interface FilePage {
  files: CheckpointFileView[];
  offset: number;
  /** Files that fit the words, and their bytes together. */
  matching: number;
  matchingBytes: number;
  total: number;
}
