import type { AdoptionView } from "../checkpoint/adopted.ts";
import type { SealedView } from "../checkpoint/sealing.ts";
import type { CheckpointRole, CheckpointState } from "../checkpoint/checkpoint.ts";
import type { DamageReport } from "../checkpoint/damage.ts";
import type { EventKind } from "../base/event-kinds.ts";
import type { FaultData } from "../faults/fault.ts";
import type { NodeFacts } from "./hello.ts";
import type { CopyView } from "./homes.ts";
import type { CheckpointKeeping } from "../retention/keeping.ts";
import type { ShownPlace } from "../checkpoint/place.ts";
import type { PresetView } from "./profile-views.ts";
import type { WatchedFolder } from "./reports.ts";
import type { Role } from "./requests.ts";
import type { RestoreCost, RestoreQueue } from "./restoring.ts";
import type { Risk, WorkState } from "./risk.ts";
import type { TransferDirection, TransferState } from "./transfer.ts";

/** What the hub shows to people. Times are epoch milliseconds by the hub's clock, sizes bytes, rates bytes per second. */

export interface Person {
  id: string;
  email: string;
  role: Role;
}

export interface HubStatus {
  /** No account exists yet: show the first-run page. */
  needsSetup: boolean;
  person: Person | null;
  version: string;
  /** Where the hub was told that people reach it (TIDEMARK_PUBLIC_URL); null where it was told nothing. */
  publicOrigin: string | null;
}

export interface TokenView {
  id: string;
  label: string;
  fleet: string;
  /** Patterns of the runs that its nodes may write; null: those they name when they enrol, and new ones. */
  runs: string | null;
  profileId: string;
  profileName: string;
  /** First characters, to recognise it by. */
  hint: string;
  uses: number;
  maxUses: number;
  createdAt: number;
  expiresAt: number;
  revokedAt: number | null;
}

/**
 * `online`: heard within its report cadence; `unconfirmed`: a report is overdue; `silent`: nothing for 30 s or longer;
 * `offline`: said goodbye; `revoked`.
 */
export type NodeState = "online" | "unconfirmed" | "silent" | "offline" | "revoked";

export interface NodeRunView {
  run: string;
  writerEpoch: number | null;
  /** False when another node has taken the run over. */
  isWriter: boolean;
  localStep: number | null;
  localAt: number | null;
  safeStep: number | null;
  safeAt: number | null;
  safeBytes: number;
  movedBytes: number;
  intervalMs: number | null;
  /** Shortest interval its uplink sustains, by its own measure; null while it has none. */
  leastIntervalMs: number | null;
  work: WorkState;
  risk: Risk;
}

/** The line of a run that a node writes: where its newest checkpoint lay. */
export interface NodeLine {
  run: string;
  /** Below the watched folder; "" is that folder itself. */
  folder: string;
  /** Other folders in which this node wrote checkpoints of the run before. */
  others: number;
}

export interface NodeRow {
  id: string;
  name: string;
  state: NodeState;
  /** Last word from the node. */
  lastSeenAt: number | null;
  enrolledAt: number;
  /** The join token it came with; null when that is not known any more. */
  tokenId: string | null;
  fleet: string;
  /** Who its platform said it is, for example `salad:organization/workload/machine`; null when it came with a token. */
  identity: string | null;
  /** Patterns of the runs that it may write; null: those it named when it enrolled, its own, and new ones. */
  mayWrite: string | null;
  profileId: string | null;
  profileName: string | null;
  facts: NodeFacts;
  work: WorkState;
  runs: NodeRunView[];
  risk: Risk;
  /** Bytes safe (newest safe checkpoint of each run), moving and waiting: the tide line. */
  safeBytes: number;
  movedBytes: number;
  upBytesPerSecond: number;
  downBytesPerSecond: number;
  rttMs: number | null;
  disk: { freeBytes: number; totalBytes: number; path: string } | null;
  cpuPercent: number | null;
  activeTransfers: number;
  /** Upload rate of the last five minutes, oldest first, one value per 10 s. */
  upHistory: number[];
}

/** One point of a node's or the fleet's chart; `atRiskBytes` is what was not safe then. */
export interface SamplePoint {
  at: number;
  upBytesPerSecond: number;
  downBytesPerSecond: number;
  atRiskBytes: number;
  lossMs: number;
  rttMs: number | null;
  /** Of one core, what the worker took; null for the fleet, and where it is not known. */
  cpuPercent: number | null;
}

export interface FleetView {
  at: number;
  nodes: number;
  online: number;
  /** A report of theirs is overdue. */
  unconfirmed: number;
  silent: number;
  byWork: Record<WorkState, number>;
  risk: Risk;
  /** The node whose loss would cost most. */
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
  /** Where it comes from or goes to in words: `training-eu/runs/llama` or a folder on the node. */
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
  /** A piece map: `.` waits, `>` moves, `#` is acknowledged, `!` came to nothing once and is tried again. Empty where nothing moves. */
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
  /** Newest complete of its run. */
  isNewest: boolean;
  sizeBytes: number;
  fileCount: number;
  nodeId: string;
  nodeName: string;
  profileId: string;
  bucket: string;
  framework: string | null;
  /** Null of a checkpoint. */
  role: CheckpointRole | null;
  /** Where it lay in the watched folder; null where that is not known, or its names are hidden. */
  place: ShownPlace | null;
  /** Why it may not be whole: nothing goes on from it by itself. Null of one that is, as far as its files tell. */
  doubt: string | null;
  /** Of a piece: which of the nodes wrote it. Of one that was joined from pieces: the names of their nodes. */
  piece: { of: number; rank?: number | undefined; nodes?: string[] | undefined } | null;
  /** A person had the run start from an earlier step (`--from`). */
  isAbandoned: boolean;
  metrics: Record<string, number>;
  capturedAt: number;
  committedAt: number | null;
  /** Part of the size already acknowledged, while uploading. */
  bytesDone: number;
  keeping: CheckpointKeeping;
  /** When every byte was last read back and found right. */
  verifiedAt: number | null;
  /** What of it was found not to be what was committed, and when. */
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
  /** Null: Tidemark wrote it itself. */
  adoption: AdoptionView | null;
  parent: { epoch: number; step: number } | null;
  manifestKey: string | null;
  manifestSha256: string | null;
  /** Null: it lies in the bucket as it is. */
  sealed: SealedView | null;
  location: string;
  /** Where it lies, the one that is read first at the front; empty while it is not complete, and for what was adopted. */
  copies: CopyView[];
  files: CheckpointFileView[];
  /** More files than are listed here. */
  filesOmitted: number;
  restores: TransferRow[];
  /** Verifying and restore drills. */
  checks: TransferRow[];
}

export interface EpochView {
  epoch: number;
  parent: { epoch: number; step: number } | null;
  nodeId: string;
  nodeName: string;
  claimedAt: number;
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
  /** Null where nobody writes it, or its writer is not known. */
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
  /** Nodes that asked to write it within a day and were refused, newest first. */
  askedBy: { nodeId: string; nodeName: string; at: number }[];
  /** The node that may take it over with its next claim; null: none. */
  handedTo: { nodeId: string; nodeName: string } | null;
  /** All of its checkpoints, also those that are not listed here. */
  /** How many are kept by hand. */
  kept: { pinned: number; tagged: number };
  byState: Record<CheckpointState, number>;
  /** Newest first, at most 100; `checkpoints.list` goes on. */
  checkpoints: CheckpointRow[];
}

export interface RestoreCandidate {
  nodeId: string;
  name: string;
  state: NodeState;
  gpu: string | null;
  freeBytes: number | null;
  /** Why it cannot be chosen, or null when it fits. */
  whyNot: string | null;
  busyWith: string | null;
  /** What its programs do, such as `training llama`; null: it watches no run. */
  training: string | null;
  /** From what is expected of this node's link: its own transfers, else its probe, else its neighbours; null without any. */
  etaMs: number | null;
  bytesPerSecond: number | null;
  /** The bucket that it would read, where there is a choice; null where there is none. */
  from: string | null;
}

export interface RestorePlan {
  checkpoint: CheckpointRow;
  isNewest: boolean;
  /** Of the files that were chosen: what moves. Where tensors were chosen, how many they are and what they hold. */
  chosen: { files: number; bytes: number; tensors: { count: number; bytes: number } | null };
  /** Files among them that run code when they are loaded, by their names. */
  pickles: number;
  /** Why the choice cannot be restored: a rank that cannot be told, a file that is damaged. */
  refusal: FaultData | null;
  /** The complete one before a damaged one; null where it is not damaged, or there is none. */
  instead: { checkpointId: string; step: number } | null;
  /** Of one node. */
  requests: number;
  /** Of one node; null where nobody publishes prices. */
  cost: RestoreCost | null;
  queue: RestoreQueue;
  egress: PresetView["egress"];
  candidates: RestoreCandidate[];
  /** The node asked for, or the one that fits best; null when none fits. */
  suggestedNodeId: string | null;
  /** On that node, outside of watched folders where the node has such a place. */
  suggestedPath: string;
  /** On that node, where training looks for it; null: none, or restores may not go there. */
  trainingPath: string | null;
  /** On that node. */
  watched: readonly WatchedFolder[];
  /** Where it lay in the watched folder, or would lie by its step: a target of this name receives its files, any other one is a folder. */
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
  /** More lines of a stranger's text, such as the last words of a program. */
  detail: string | null;
  fault: FaultData | null;
}

/** What changed of a node's row: `node-changes.ts` has how. The sum of what is at risk follows from the runs. */
export type NodeChange = Pick<NodeRow, "id"> &
  Partial<Omit<NodeRow, "risk">> & {
    /** Training that each run would lose, in ms, in the order of `runs`, which leave it out. */
    losses?: number[];
  };

/** One message of the browser's single stream. Everything first, then what changed. */
export type LiveMessage =
  | { type: "fleet"; fleet: FleetView }
  /** All nodes. */
  | { type: "nodes"; nodes: NodeRow[] }
  /** Nodes that are new, and of those that are known what changed. */
  | { type: "node-changes"; joined: NodeRow[]; changed: NodeChange[] }
  /** Transfers that are not ended, plus each one once more when it ends. */
  | { type: "transfers"; whole: boolean; transfers: TransferRow[] }
  | { type: "events"; events: EventRow[] }
  /** These lists changed at the hub; a page that shows one asks for it again. */
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
  | "alerts";
