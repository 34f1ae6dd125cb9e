import type { FaultData } from "../faults/fault.ts";
import type { RestoreCost } from "../wire/restoring.ts";
import type { BenchDirection, EngineName } from "./engines.ts";
import type { BenchSettings } from "./plan-input.ts";
import type { BenchSummary, Spread } from "./summarize.ts";
import type { BenchCaseEnd } from "./turn.ts";

/** Benchmarks of a fleet as people see them. Times are epoch ms by the hub's clock, rates bytes per second. */

export type BenchState = "running" | "done" | "cancelled";
export const TURN_STATES = ["waiting", "running", "done", "failed", "cancelled"] as const;
export type TurnState = (typeof TURN_STATES)[number];

/** What a benchmark would be. */
/** Whether an engine can run at one of the links of a benchmark, and what it lacks. */
export interface EngineNeeds {
  engine: EngineName;
  /** On one of the nodes at one of the buckets, as far as it is known. */
  canRun: boolean;
  /** None of the buckets has what it signs with. */
  needs: "key" | "grant" | null;
  /** Nodes that were asked in an earlier benchmark and have not its program, and nodes that were never asked. */
  missingOn: number;
  unknownOn: number;
}

export interface BenchPreview {
  /** All that there are, also those that were not asked for. */
  engines: EngineNeeds[];
  nodes: { id: string; name: string }[];
  turns: number;
  cases: number;
  upBytes: number;
  downBytes: number;
  buckets: {
    profileId: string;
    name: string;
    region: string;
    /** Engines that do not run there, because no benchmark key was given for it. */
    withoutKey: EngineName[];
    /** Null: its prices are not known. */
    cost: RestoreCost | null;
  }[];
}

export interface BenchRow {
  id: string;
  name: string;
  state: BenchState;
  actor: string;
  startedAt: number;
  endedAt: number | null;
  nodes: number;
  buckets: number;
  turns: Record<TurnState, number>;
  casesDone: number;
  casesFailed: number;
}

export interface TurnView {
  id: string;
  nodeId: string;
  nodeName: string;
  nodeRegion: string;
  profileId: string;
  profileName: string;
  storeRegion: string;
  state: TurnState;
  rttMs: number | null;
  engines: { engine: EngineName; version: string | null; missing: string | null }[];
  casesDone: number;
  fault: FaultData | null;
  startedAt: number | null;
  endedAt: number | null;
  /** Whether the bucket was looked at afterwards and is empty of it. */
  isClean: boolean;
}

/** Links between a region of nodes and a region of buckets. */
export interface RegionPair {
  nodeRegion: string;
  storeRegion: string;
  turns: number;
  rttMs: number | null;
  up: number | null;
  down: number | null;
}

export interface BenchView extends BenchRow {
  settings: BenchSettings;
  perBucket: number;
  seed: number;
  summary: BenchSummary;
  overall: Record<BenchDirection, { cases: number; failed: number; mean: number | null }>;
  /** By node: its maximum each way. */
  nodeMaxima: { nodeId: string; nodeName: string; nodeRegion: string; up: number | null; down: number | null }[];
  /** Of maximum down by maximum up, over nodes that have both. */
  asymmetry: Spread | null;
  regions: RegionPair[];
  turnList: TurnView[];
}

export interface CaseView extends BenchCaseEnd {
  turnId: string;
  nodeName: string;
  nodeRegion: string;
  profileName: string;
  storeRegion: string;
  rttMs: number | null;
  at: number;
}
