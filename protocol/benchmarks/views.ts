import type { FaultData } from "../faults/fault.ts";
import type { RestoreCost } from "../wire/restoring.ts";
import type { BenchDirection, EngineName } from "./engines.ts";
import type { BenchSettings } from "./plan-input.ts";
import type { BenchSummary, Spread } from "./summarize.ts";
import type { BenchCaseEnd } from "./turn.ts";

/** Benchmarks of a fleet as pages show them. Times are epoch ms by the hub's clock, rates bytes per second. */

export type BenchState = "running" | "done" | "cancelled";
export const TURN_STATES = ["waiting", "running", "done", "failed", "cancelled"] as const;
export type TurnState = (typeof TURN_STATES)[number];

/** Whether an engine can run at the links of a benchmark, and what it lacks. */
export interface EngineNeeds {
  engine: EngineName;
  /** Whether it can run on at least one node at one bucket, as far as known. */
  canRun: boolean;
  /** Credential that every bucket lacks; null when a bucket has it or the engine needs none. */
  needs: "key" | "grant" | null;
  /** Nodes whose earlier benchmark found its program missing, and nodes that never reported on it. */
  missingOn: number;
  unknownOn: number;
}

/** Work of a benchmark, shown before it starts. */
export interface BenchPreview {
  /** All engines, also those that were not selected. */
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
    /** Engines that do not run there for want of a benchmark key. */
    withoutKey: EngineName[];
    /** Null: the prices of the bucket are not known. */
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
  /** Whether the bucket was checked after the turn and holds none of its objects. */
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
  /** By node: its fastest case in each direction. */
  nodeMaxima: { nodeId: string; nodeName: string; nodeRegion: string; up: number | null; down: number | null }[];
  /** Spread of the ratio of maximum down to maximum up, over nodes that have both. */
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
