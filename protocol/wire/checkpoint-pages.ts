import * as z from "zod";
import { checkpointState, type CheckpointState } from "../checkpoint/checkpoint.ts";
import { id, runName, step } from "../base/names.ts";
import type { CheckpointFileView, CheckpointRow } from "./views.ts";

/** Long lists of checkpoints and of their files, page by page. */

/** Number of rows with which a run's page starts; `checkpoints.list` returns more. */
export const CHECKPOINTS_AT_FIRST = 100;

export const listCheckpointsInput = z.object({
  run: runName,
  /** Empty: all states. */
  states: z.array(checkpointState).max(checkpointState.options.length).default([]),
  /** Only checkpoints that a person pinned or tagged. */
  kept: z.enum(["pinned", "tagged"]).nullable().default(null),
  /** Only checkpoints of these steps, both ends included. */
  steps: z.object({ from: step, to: step }).nullable().default(null),
  /** Id of the last row of the previous page. */
  cursor: id.nullable().default(null),
  limit: z.number().int().min(1).max(200).default(CHECKPOINTS_AT_FIRST),
});

/** Newest first. */
export interface CheckpointPage {
  rows: CheckpointRow[];
  /** Null when there are no more. */
  nextCursor: string | null;
}

/** Largest number of checkpoints that a search returns. */
export const MOST_FOUND = 20;

export const searchCheckpointsInput = z.object({
  /** A step with or without part of its run's name ("llama 1200", "1200"), or part of a tag. */
  words: z.string().max(128),
});

export interface FoundCheckpoint {
  id: string;
  run: string;
  step: number;
  state: CheckpointState;
  /** The tag that matched; null when the step did. */
  tag: string | null;
  /** Milliseconds since 1970. */
  capturedAt: number;
}

export const listFilesInput = z.object({
  checkpointId: id,
  /** Part of a path, ignoring case. */
  words: z.string().max(256).default(""),
  sort: z.enum(["path", "size"]).default("path"),
  offset: z.number().int().min(0).max(50_000).default(0),
  limit: z.number().int().min(1).max(1_000).default(500),
});

export interface FilePage {
  files: CheckpointFileView[];
  offset: number;
  /** Number of files that match, and their total size. */
  matching: number;
  matchingBytes: number;
  total: number;
}
