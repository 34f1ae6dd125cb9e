import * as z from "zod";
import type { KeepsVersions } from "../base/kept-versions.ts";
import type { FaultData } from "../faults/fault.ts";

/** Maintenance by the hub: backups, the search for orphaned objects (janitor), and the state of a history that was lost. */

export const JANITOR_MODES = ["off", "report", "delete"] as const;
export type JanitorMode = (typeof JANITOR_MODES)[number];

/** `report` counts and removes nothing. */
export const runJanitorInput = z.object({ mode: z.enum(["report", "delete"]) });

export interface OrphanSum {
  count: number;
  bytes: number;
  /** Epoch ms by the store's clock; null when there is none. */
  oldestAt: number | null;
}

/** Reasons why an object that no manifest names is kept. */
export const KEPT_REASONS = ["young", "open-epoch", "live", "unknown"] as const;
export type KeptReason = (typeof KEPT_REASONS)[number];

/** Result of one janitor run on one profile. */
export interface JanitorReport {
  profileId: string;
  profileName: string;
  mode: "report" | "delete";
  at: number;
  tookMs: number;
  /** Orphans: objects of attempts without a manifest, multipart uploads that were never completed, objects left by probes. */
  objects: OrphanSum;
  uploads: OrphanSum;
  probes: OrphanSum;
  /** Removed in this run; zero in a report. */
  removed: { count: number; bytes: number };
  /** Whether the bucket keeps removed objects as old versions, so that their bytes are not freed. Left out by older hubs. */
  keepsVersions?: KeepsVersions;
  /** Objects without a manifest that stay, by reason. */
  kept: Record<KeptReason, OrphanSum>;
  /** First fault of the objects that could not be removed. */
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
  /** Time of the backup. */
  asOf: number | null;
  /** Time at which every bucket had been listed; null while that is in progress. */
  listedAt: number | null;
  /** Result of the listing; null before its end. */
  found: HistoryFound | null;
}

/** Result of reading a lost history from a bucket. */
export interface HistoryFound {
  runs: number;
  epochs: number;
  /** Checkpoints that were added to the database. */
  checkpoints: number;
  /** Checkpoints that are complete in the database, but whose manifest is not in the bucket. */
  missing: number;
  /** Objects whose content does not match their key: refused. `refusedKeys` has the first of them. */
  refused: number;
  refusedKeys: { key: string; why: string }[];
}

/** Result of taking over the runs that nodes without a hub wrote to a bucket. */
export interface RunsTaken {
  /** The bucket is still being read; the same call again joins the reading. */
  isRunning: boolean;
  found: HistoryFound | null;
  /** Nodes that hold a run without a hub now; at most 100. */
  writing: { run: string; node: string }[];
}

export interface UpkeepView {
  lastBackup: BackupView | null;
  /** Null: the schedule is off. */
  nextBackupAt: number | null;
  janitorMode: JanitorMode;
  isJanitorRunning: boolean;
  /** Newest report of each profile. */
  lastJanitor: JanitorReport[];
  lastJanitorFault: FaultData | null;
  /** Bytes of orphans, by the newest reports. */
  orphanBytes: number;
  mayDelete: boolean;
  doubt: DoubtView | null;
}
