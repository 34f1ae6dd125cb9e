import * as z from "zod";
import type { FaultData } from "../faults/fault.ts";

/** What the hub does for itself: backups, the look for what nobody needs, and what it knows of a history it lost. */

export const JANITOR_MODES = ["off", "report", "delete"] as const;
export type JanitorMode = (typeof JANITOR_MODES)[number];

/** `report` counts and removes nothing. */
export const runJanitorInput = z.object({ mode: z.enum(["report", "delete"]) });

export interface Leftovers {
  count: number;
  bytes: number;
  /** Epoch ms by the store's clock; null when there is none. */
  oldestAt: number | null;
}

/** Why something that no manifest names stays. */
export const KEPT_REASONS = ["young", "open-epoch", "live", "unknown"] as const;
export type KeptReason = (typeof KEPT_REASONS)[number];

/** What one look at one profile found. */
export interface JanitorReport {
  profileId: string;
  profileName: string;
  mode: "report" | "delete";
  at: number;
  tookMs: number;
  /** What nobody needs: objects of attempts without a manifest, uploads that were never completed, what probes left. */
  objects: Leftovers;
  uploads: Leftovers;
  probes: Leftovers;
  /** Of those, what was removed now; zero in a report. */
  removed: { count: number; bytes: number };
  /** Objects without a manifest that stay, by reason. */
  kept: Record<KeptReason, Leftovers>;
  /** What was not removed although it was asked for: the first of the faults. */
  fault: FaultData | null;
}

export interface UpkeepRunView {
  startedAt: number;
  endedAt: number;
  fault: FaultData | null;
}

export interface BackupView extends UpkeepRunView {
  /** Null when it failed. */
  file: string | null;
  sizeBytes: number | null;
}

export interface DoubtView {
  kind: "restored" | "rebuilt";
  at: number;
  /** When the backup was taken. */
  asOf: number | null;
  /** When all of every bucket had been listed; null while that goes on. */
  listedAt: number | null;
  /** What the listing found; null before. */
  found: HistoryFound | null;
}

/** What a bucket told of a history. */
export interface HistoryFound {
  runs: number;
  epochs: number;
  /** Checkpoints that were not in the database and now are. */
  checkpoints: number;
  /** Complete in the database, and their manifest is not in the bucket. */
  missing: number;
  /** Objects that are not what their key says: refused, the first of them named. */
  refused: number;
  refusedKeys: { key: string; why: string }[];
}

export interface UpkeepView {
  lastBackup: BackupView | null;
  /** Null: the schedule is off. */
  nextBackupAt: number | null;
  janitorMode: JanitorMode;
  isJanitorRunning: boolean;
  /** The newest of each profile. */
  lastJanitor: JanitorReport[];
  lastJanitorFault: FaultData | null;
  /** Bytes that nobody needs, by the newest looks. */
  orphanBytes: number;
  mayDelete: boolean;
  doubt: DoubtView | null;
}
