import type { EpochView, PassedOverView } from "../checkpoint/lineage.ts";
import type { AdoptionView } from "../checkpoint/adopted.ts";
import type { SealedView } from "../checkpoint/sealing.ts";
import type { CheckpointRole, CheckpointState } from "../checkpoint/checkpoint.ts";
import type { DamageReport } from "../checkpoint/damage.ts";
import type { EventKind } from "../base/event-kinds.ts";
import type { FaultData } from "../faults/fault.ts";
import type { NodeFacts } from "./hello.ts";
import type { CopyView } from "./homes.ts";
import type { CheckpointKeeping } from "../retention/keeping.ts";
import type { LineBranch } from "../checkpoint/line-branch.ts";
import type { ShownPlace } from "../checkpoint/place.ts";
import type { PresetView } from "./profile-views.ts";
import type { WatchedFolder } from "./reports.ts";
import type { Role } from "./requests.ts";
import type { RestoreCost, RestoreQueue } from "./restoring.ts";
import type { Risk, WorkState } from "./risk.ts";
import type { TransferDirection, TransferState } from "./transfer.ts";

/** Data that the hub shows to people. Times are epoch milliseconds by the hub's clock, sizes bytes, rates bytes per second. */

export interface Person {
  id: string;
  email: string;
  role: Role;
}

export interface HubStatus {
  /** Whether no account exists yet, so that the first-run page is shown. */
  needsSetup: boolean;
  person: Person | null;
  version: string;
  /** Configured address of the hub for people (TIDEMARK_PUBLIC_URL); null when not set. */
  publicOrigin: string | null;
}

export interface TokenView {
  id: string;
  label: string;
  fleet: string;
  /** Patterns of the runs that its nodes may write; null: the runs that they name when they enrol, and new ones. */
  runs: string | null;
  profileId: string;
  profileName: string;
  /** First characters, by which people recognize it. */
  hint: string;
  uses: number;
  maxUses: number;
  createdAt: number;
  expiresAt: number;
  revokedAt: number | null;
}

/**
 * `online`: reports on time. `unconfirmed`: a report is overdue. `silent`: no report for 30 s or longer. `offline`:
 * announced its end. `revoked`: its credential was revoked.
 */
export type NodeState = "online" | "unconfirmed" | "silent" | "offline" | "revoked";

export interface NodeRunView {
  run: string;
  writerEpoch: number | null;
  /** False when another node has taken over the run. */
  isWriter: boolean;
  localStep: number | null;
  localAt: number | null;
  safeStep: number | null;
  safeAt: number | null;
  safeBytes: number;
  movedBytes: number;
  intervalMs: number | null;
  /** Shortest interval that its uplink can sustain, by the node's own measurement; null while unknown. */
  leastIntervalMs: number | null;
  work: WorkState;
  risk: Risk;
}

/** Folder in which a node writes the checkpoints of a run, by its newest checkpoint. */
export interface NodeLine {
  run: string;
  /** Path below the watched folder; "" is the watched folder itself. */
  folder: string;
  /** Number of other folders in which this node wrote checkpoints of the run before. */
  others: number;
  /** Newest step that may not be whole and that is later than the newest from which the run goes on; null: none. */
  doubtfulStep: number | null;
  /** The last final model may not be whole. */
  isFinalDoubtful: boolean;
  /** Step that the program of the run was given and did not continue from, while that matters; null: none. */
  passedOverStep: number | null;
}

export interface NodeRow {
  id: string;
  name: string;
  state: NodeState;
  /** Time of the last report. */
  lastSeenAt: number | null;
  enrolledAt: number;
  /** The join token with which it enrolled; null when no longer known. */
  tokenId: string | null;
  fleet: string;
  /** Identity by its platform, for example `salad:organization/workload/machine`; null when it enrolled with a token. */
  identity: string | null;
  /** Patterns of the runs that it may write; null: those that it named when it enrolled, its own, and new ones. */
  mayWrite: string | null;
  profileId: string | null;
  profileName: string | null;
  facts: NodeFacts;
  work: WorkState;
  runs: NodeRunView[];
  risk: Risk;
  /** Bytes for the tide gauge: the newest safe checkpoint of each run, and acknowledged bytes of unsafe ones. */
  safeBytes: number;
  movedBytes: number;
  upBytesPerSecond: number;
  downBytesPerSecond: number;
  rttMs: number | null;
  disk: { freeBytes: number; totalBytes: number; path: string } | null;
  cpuPercent: number | null;
  activeTransfers: number;
  /** Upload rate over the last five minutes, oldest first, one value per 10 s. */
  upHistory: number[];
}

/** One point in the chart of a node or the fleet; `atRiskBytes` is the amount that was not safe then. */
export interface SamplePoint {
  at: number;
  upBytesPerSecond: number;
  downBytesPerSecond: number;
  atRiskBytes: number;
  lossMs: number;
  rttMs: number | null;
  /** CPU use of the worker in percent of one core; null for the fleet, and when unknown. */
  cpuPercent: number | null;
}

export interface FleetView {
  at: number;
  nodes: number;
  online: number;
  /** Nodes with an overdue report. */
  unconfirmed: number;
  silent: number;
  byWork: Record<WorkState, number>;
  risk: Risk;
  /** The node whose loss would cost most training time. */
  worstNode: { id: string; name: string; lossMs: number } | null;
  upBytesPerSecond: number;
  downBytesPerSecond: number;
  activeTransfers: number;
  doneLastDay: number;
  failedLastDay: number;
  checkpointsComplete: number;
}

export interface TransferRow {
  id: string;
  nodeId: string;
  nodeName: string;
  direction: TransferDirection;
  state: TransferState;
  checkpointId: string;
  run: string;
  step: number;
  bucket: string;
  /** Source or target for display: `training-eu/runs/llama` or a folder on the node. */
  place: string;
  bytesDone: number;
  bytesTotal: number;
  filesDone: number;
  filesTotal: number;
  currentPath: string | null;
  bytesPerSecond: number;
  averageBytesPerSecond: number;
  etaMs: number | null;
  connections: number;
  retries: number;
  /** Piece map: `.` waiting, `>` moving, `#` acknowledged, `!` failed before and retried. Empty when nothing moves. */
  pieces: string;
  stalledMs: number | null;
  fault: FaultData | null;
  startedBy: "queue" | "operator" | "start";
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

export interface CheckpointRow {
  id: string;
  run: string;
  step: number;
  writerEpoch: number;
  state: CheckpointState;
  /** Whether it is the newest complete checkpoint of its run. */
  isNewest: boolean;
  sizeBytes: number;
  fileCount: number;
  nodeId: string;
  nodeName: string;
  profileId: string;
  bucket: string;
  framework: string | null;
  /** Null for a checkpoint. */
  role: CheckpointRole | null;
  /** Path in the watched folder; null when unknown, or when its names are hidden. */
  place: ShownPlace | null;
  /** Why it may be incomplete, so that no run continues from it by itself. Null when it is whole as far as its files tell. */
  doubt: string | null;
  /** For a piece: the rank of its node. For a joined checkpoint: the names of the nodes that wrote its pieces. */
  piece: { of: number; rank?: number | undefined; nodes?: string[] | undefined } | null;
  /** Whether a person started the run again from an earlier step (`--from`). */
  isAbandoned: boolean;
  metrics: Record<string, number>;
  capturedAt: number;
  committedAt: number | null;
  /** Bytes that the store has acknowledged, while uploading. */
  bytesDone: number;
  keeping: CheckpointKeeping;
  /** Time of the last full verification without damage. */
  verifiedAt: number | null;
  /** Bytes that differ from what was committed, and when that was found. */
  damage: (DamageReport & { foundAt: number }) | null;
}

export interface CheckpointFileView {
  path: string;
  sizeBytes: number;
  crc32: string | null;
  parts: number;
}

export interface CheckpointView extends CheckpointRow {
  attempt: string;
  /** Null: Tidemark wrote it. */
  adoption: AdoptionView | null;
  parent: { epoch: number; step: number } | null;
  /** Where its epoch branches off; null when that is no new line of training. */
  branch: LineBranch | null;
  manifestKey: string | null;
  manifestSha256: string | null;
  /** Null: not encrypted. */
  sealed: SealedView | null;
  location: string;
  /** Its copies, the one that is read first at the front; empty for incomplete and for external checkpoints. */
  copies: CopyView[];
  files: CheckpointFileView[];
  /** Number of files that are not in `files`. */
  filesOmitted: number;
  restores: TransferRow[];
  /** Verifications and restore drills. */
  checks: TransferRow[];
}

export interface RunRow {
  name: string;
  profileId: string;
  profileName: string;
  bucket: string;
  /** `s3://bucket/prefix/`, scheme included. */
  location: string;
  writerEpoch: number;
  writerNodeId: string | null;
  writerNodeName: string | null;
  /** Null when nobody writes the run, or its writer is unknown. */
  writerState: NodeState | null;
  newestStep: number | null;
  newestAt: number | null;
  newestCheckpointId: string | null;
  uploading: number;
  complete: number;
  totalBytes: number;
  intervalMs: number | null;
  createdAt: number;
  work: WorkState;
  risk: Risk;
}

export interface RunView extends RunRow {
  epochs: EpochView[];
  /** Oldest first, until a later checkpoint passes the step or a person dismisses it. */
  passedOver: PassedOverView[];
  /** Nodes whose claim was refused within the last day, newest first. */
  askedBy: { nodeId: string; nodeName: string; at: number }[];
  /** The node that may take over the run with its next claim; null: none. */
  handedTo: { nodeId: string; nodeName: string } | null;
  /** Number of checkpoints that people pinned or tagged, in all of the run. */
  kept: { pinned: number; tagged: number };
  /** Counts of all its checkpoints, listed or not. */
  byState: Record<CheckpointState, number>;
  /** Newest first, at most 100; `checkpoints.list` returns more. */
  checkpoints: CheckpointRow[];
}

export interface RestoreCandidate {
  nodeId: string;
  name: string;
  state: NodeState;
  gpu: string | null;
  freeBytes: number | null;
  /** Why the node cannot be chosen; null when it can. */
  whyNot: string | null;
  busyWith: string | null;
  /** Activity of its programs, such as `training llama`; null: it watches no run. */
  training: string | null;
  /** Estimate from this node's transfers, else its probe, else nodes nearby; null without any. */
  etaMs: number | null;
  bytesPerSecond: number | null;
  /** The bucket that the node would read; null when there is only one. */
  from: string | null;
}

export interface RestorePlan {
  checkpoint: CheckpointRow;
  isNewest: boolean;
  /** Chosen files and the bytes to transfer. `tensors`: number and bytes of the chosen tensors; null without such a choice. */
  chosen: { files: number; bytes: number; tensors: { count: number; bytes: number } | null };
  /** Chosen files that run code when they are loaded, judged by their names. */
  pickles: number;
  /** Why the choice cannot be restored: the files of a rank cannot be told apart, or a file is damaged. */
  refusal: FaultData | null;
  /** The complete checkpoint before a damaged one; null when this one is not damaged, or there is none. */
  instead: { checkpointId: string; step: number } | null;
  /** Requests for one node. */
  requests: number;
  /** Cost for one node; null without published prices. */
  cost: RestoreCost | null;
  queue: RestoreQueue;
  egress: PresetView["egress"];
  candidates: RestoreCandidate[];
  /** The requested node, or the one that fits best; null when none fits. */
  suggestedNodeId: string | null;
  /** Path on that node, outside of watched folders when the node has such a place. */
  suggestedPath: string;
  /** Path on that node at which training looks for it; null: none, or restores may not go there. */
  trainingPath: string | null;
  /** Watched folders of that node. */
  watched: readonly WatchedFolder[];
  /**
   * Path in the watched folder, or a path built from its step. A target with this name receives the checkpoint's own form
   * (file or files); any other target becomes a folder.
   */
  place: ShownPlace;
}

export interface EventRow {
  /** Ascending; the cursor of the list. */
  id: number;
  at: number;
  kind: EventKind;
  work: WorkState;
  nodeId: string | null;
  nodeName: string | null;
  run: string | null;
  step: number | null;
  /** The rest of the sentence after the node's name. */
  text: string;
  /** Further lines of untrusted text, such as the last output of a program. */
  detail: string | null;
  fault: FaultData | null;
}

/** Changed parts of a node's row; see `node-changes.ts`. The total risk is not sent, because it follows from the runs. */
export type NodeChange = Pick<NodeRow, "id"> &
  Partial<Omit<NodeRow, "risk">> & {
    /** Training time at risk of each run, in ms, in the order of `runs`, which do not contain it. */
    losses?: number[];
  };

/** A message of the browser's single stream: first the whole state, then changes. */
export type LiveMessage =
  | { type: "fleet"; fleet: FleetView }
  /** All nodes. */
  | { type: "nodes"; nodes: NodeRow[] }
  /** New nodes, and changed parts of known ones. */
  | { type: "node-changes"; joined: NodeRow[]; changed: NodeChange[] }
  /** Unfinished transfers, and each finished one once more. */
  | { type: "transfers"; whole: boolean; transfers: TransferRow[] }
  | { type: "events"; events: EventRow[] }
  /** Lists that changed at the hub; a page that shows one requests it again. */
  | { type: "stale"; topics: StaleTopic[] }
  | { type: "beat"; at: number };

export type StaleTopic =
  | "profiles"
  | "tokens"
  | "runs"
  | "checkpoints"
  | "transfers"
  | "events"
  | "account"
  | "commands"
  | "benchmarks"
  | "jobs"
  | "groups"
  | "alerts";
