import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { jobSubmission } from "./job-spec.ts";
import type { JobState } from "./job-states.ts";

/** Schedules: jobs that the hub submits at times, again and again. */

export const scheduleName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "a schedule's name has 1 to 64 letters, digits, '.', '_' or '-' and starts with a letter or digit",
  );

export const setScheduleInput = z.object({
  name: scheduleName,
  /** Minute, hour, day of the month, month, day of the week. */
  cron: addressText(128).trim().min(1),
  /** IANA name, such as Europe/Berlin. */
  timeZone: addressText(64).trim().min(1).default("UTC"),
  /** Submits a job also while the one before waits or runs. */
  overlaps: z.boolean().default(false),
  job: jobSubmission
    .refine(({ idempotencyKey }) => idempotencyKey === undefined, "the schedule gives each job a key of its own")
    .refine(({ after }) => after.length === 0, "a job of a schedule cannot follow others"),
});

export const byScheduleName = z.object({ name: scheduleName });
export const pauseScheduleInput = byScheduleName.extend({ isPaused: z.boolean() });

export interface JobScheduleRow {
  name: string;
  cron: string;
  timeZone: string;
  overlaps: boolean;
  queue: string;
  command: string;
  /** Names of the secrets of its jobs. */
  secrets: string[];
  /** E-mail address of the person who made it, whose jobs these are. */
  owner: string;
  pausedAt: number | null;
  /** Epoch ms; null while it is paused. */
  nextAt: number | null;
  lastAt: number | null;
  /** Null before the first, and when it is forgotten. */
  lastJob: { id: string; state: JobState } | null;
  /** Why it submitted no job the last time, as a sentence without its end. */
  problem: string | null;
}

export const MOST_SCHEDULES = 1_000;
