import * as z from "zod";
import { byteCount, count, MOST_LABELS, recordOf } from "../base/bounded.ts";
import { checkpointRole, doubt, type CheckpointRole } from "../checkpoint/checkpoint.ts";
import { anyEpoch, id, nodeName, runName, step, writerEpoch } from "../base/names.ts";
import { storeTraits } from "./operations.ts";
import { lineBranch, type LineBranch } from "../checkpoint/line-branch.ts";
import { packing } from "../checkpoint/packing.ts";
import { groupClaim } from "../checkpoint/pieces.ts";
import type { ShownPlace } from "../checkpoint/place.ts";
import { nodeSealing } from "../checkpoint/sealing.ts";
import { storeTrust } from "./store-trust.ts";

/** Admission of nodes: a node enrols once with a join token, then sends `hello` at every start with its own credential. */

/** Facts about the machine. All of them are untrusted: shown, never relied on. */
export const nodeFacts = z.object({
  hostname: z.string().max(255),
  platform: z.string().max(64),
  cpus: z.number().int().min(0).max(4096),
  memoryBytes: byteCount,
  gpu: z.string().max(128).nullable(),
  /** Free text from `--label key=value`, for example region=us-east. */
  labels: recordOf(z.string().max(32), z.string().max(128), MOST_LABELS),
  /** SALAD_MACHINE_ID and similar; null on other platforms. */
  machineId: z.string().max(128).nullable(),
  workerVersion: z.string().max(32),
});
export type NodeFacts = z.infer<typeof nodeFacts>;

/** Facts of a node of which only the name is known. */
export const UNKNOWN_FACTS: NodeFacts = {
  hostname: "",
  platform: "",
  cpus: 0,
  memoryBytes: 0,
  gpu: null,
  labels: {},
  machineId: null,
  workerVersion: "",
};

/** Proof that admits a node: either a join token, or the platform's signed statement about the workload. */
export const enrolInput = z
  .object({
    token: z.string().min(16).max(256).optional(),
    saladJwt: z.string().min(16).max(4096).optional(),
    name: nodeName,
    protocol: count,
    facts: nodeFacts,
    /** Runs that the node will write. Absent from older workers and when no run is known yet: the first claim then names it. */
    runs: z.array(runName).max(64).optional(),
  })
  .refine(
    ({ token, saladJwt }) => (token === undefined) !== (saladJwt === undefined),
    "a node enrols with a join token or with a workload's identity",
  );

/** Replaces a node's credential. The node creates it and sends only its SHA-256, in hex, to the hub. */
export const rotateInput = z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/, "not a SHA-256") });
export interface RotateAnswer {
  /** Epoch ms by the hub's clock; the old credential ends then, or at the first use of the new one. */
  overlapUntil: number;
}
export interface EnrolAnswer {
  nodeId: string;
  /** May differ from the requested name when that is taken: a number is appended. */
  name: string;
  /** The node's own credential; sent as `Authorization: Bearer`. Shown once. */
  credential: string;
}

export const helloInput = z.object({
  protocol: count,
  /** New at every start of the worker; distinguishes a restart from a reconnection. */
  bootId: id,
  facts: nodeFacts,
});

/** Store to which this node sends its bytes. The endpoint is for display and for probing; the hub signs every request. */
export const nodeStore = z.object({
  profileId: id,
  profileName: z.string(),
  bucket: z.string(),
  endpoint: z.string(),
  prefix: z.string(),
  traits: storeTraits,
  /** Absent: the usual verification of TLS certificates. */
  trust: storeTrust.optional(),
  /** Absent from a hub that does not know packs. */
  packing: packing.optional(),
  /** Null or absent: files are not encrypted. */
  sealing: nodeSealing.nullish(),
});
export type NodeStore = z.infer<typeof nodeStore>;

export const nodeSettings = z.object({
  /** Interval at which the hub wants progress: about 1 s while a person watches, 5 to 15 s otherwise. */
  reportEveryMs: z.number().int().min(200).max(60_000),
  /** Window in which the fleet reconnects after the hub was away; absent from older hubs. */
  returnWithinMs: z.number().int().min(0).max(600_000).exactOptional(),
});
export type NodeSettings = z.infer<typeof nodeSettings>;

/**
 * Features that a hub may lack. `final-model`: announcements and manifests with a role. `no-checkpoint`, `link-refused`:
 * refusals with the code NO_CHECKPOINT or LINK_REFUSED. `place`: manifests with a place, and files beside a checkpoint.
 * `line`: a claim with `isLine`. `kept`: `listKept`. `doubt`: manifests that say why a checkpoint may be incomplete.
 * `pieces`: claims of several nodes, and pieces of one checkpoint. `job-bytes`: requests for a job beside its checkpoints.
 * `next-job`: `nextJob`.
 * `branch`: claims that say where a line branches off, also of several nodes, and events of programs that did not continue from what
 * they were given.
 */
export const HUB_FEATURES = [
  "final-model",
  "no-checkpoint",
  "place",
  "line",
  "link-refused",
  "kept",
  "doubt",
  "pieces",
  "late-doubt",
  "branch",
  "earlier-line",
  "job-bytes",
  "next-job",
] as const;
export type HubFeature = (typeof HUB_FEATURES)[number];

export type HelloAnswer =
  | {
      accepted: true;
      nodeId: string;
      name: string;
      store: NodeStore | null;
      settings: NodeSettings;
      hubTimeMs: number;
      /** Features beyond the first version of the protocol; absent from a hub that has none. */
      features?: readonly HubFeature[];
      /** Highest sequence number of this node's events that the hub has stored; the outbox may delete events up to it. */
      acceptedThrough: number;
    }
  | { accepted: false; reason: "worker-too-old" | "worker-too-new"; hubProtocol: number };

/** The start of a run that a person chose (`--from`): a step, or the beginning. */
export const claimFrom = z.union([step, z.literal("beginning")]);
export type ClaimFrom = z.infer<typeof claimFrom>;

/**
 * `from`: opens a new epoch at that step and abandons newer checkpoints: they stay in the bucket but no longer count as
 * newest. Repeating the last requested `from` changes nothing.
 */
export const claimEpochInput = z.object({
  run: runName,
  from: claimFrom.optional(),
  /** The program counts from a lower step again: opens the next epoch without a parent. Nothing is abandoned. */
  isLine: z.literal(true).optional(),
  /** With `isLine`: where the line branches off. */
  branch: lineBranch.optional(),
  /** Joins the line that another node of the group opened after this epoch; EPOCH_OVER when none did. */
  lineAfter: writerEpoch.optional(),
  /** Several nodes write the run together, each its own pieces. */
  group: groupClaim.optional(),
});
/** A checkpoint of this node that turned out to lack files after it was committed. */
export const doubtInput = z.object({ checkpointId: id, why: doubt });

export const openPiecesInput = z.object({ run: runName });
/** A step that lacks a piece of some node. */
export interface OpenPieces {
  step: number;
  why: string;
}
/** Answer of `findCheckpoint`. */
export type FoundCheckpoint = z.infer<typeof checkpointRef> & {
  capturedAt: number;
  /** Path in the watched folder; absent when the hub does not know it. */
  place?: ShownPlace;
  isBefore?: true;
  role?: CheckpointRole;
};
export const checkpointRef = z.object({ checkpointId: id, run: runName, writerEpoch: anyEpoch, step });
export interface ClaimAnswer {
  epoch: number;
  parent: { epoch: number; step: number } | null;
  /** Newest complete checkpoint of the run; null only when the run certainly has none. */
  newest: (z.infer<typeof checkpointRef> & { capturedAt: number; place?: ShownPlace }) | null;
  /** Answer to `from`; absent without one, and from a hub that does not know it. `isNew`: this request opened the epoch. */
  from?: { isNew: boolean };
  /** A person chose where this epoch starts. */
  isChosen?: true;
  /** The epoch is a new line of training. */
  branch?: LineBranch;
  /** Number of nodes that write the epoch together; absent: one, or a hub that does not know groups. */
  groupOf?: number;
  /** A later step than the newest that may be incomplete; a run continues from it only when a person says so. */
  doubtful?: { step: number; why: string };
}

/** A line of training that the program of a node has left since for a new one. Its captures may still be sent. */
export interface EarlierLine {
  /** Where its epoch started. */
  parent: { epoch: number; step: number } | null;
  /** Where it branches off itself. */
  branch?: LineBranch;
  /** Where the line after it branches off. */
  next: LineBranch;
}

export interface AnnounceAnswer {
  ok: true;
  role?: CheckpointRole;
  /** Present when the checkpoint is of an earlier line. */
  earlier?: EarlierLine;
}

/**
 * Finds a complete checkpoint of a run that the node writes: the newest, that of one step, or the last one before a step.
 * The answer to `before` contains `isBefore`, because a hub that does not know `before` answers with the newest.
 */
export const findCheckpointInput = z.object({
  run: runName,
  step: step.optional(),
  before: step.optional(),
  /** The newest checkpoint with this name, as its program calls it: `checkpoint-40`, `epoch=3-step=300.ckpt`. */
  name: z.string().min(1).max(255).optional(),
  /** Finds the newest with this role instead of a checkpoint. The answer repeats the role, because older hubs ignore it. */
  role: checkpointRole.optional(),
});

/** Largest number of checkpoints in one call of `confirmComplete`. */
export const MOST_CONFIRMED = 8;
/** Asks whether checkpoints are complete in their bucket now, before local copies of them are removed. */
export const confirmCompleteInput = z.object({ checkpointIds: z.array(id).min(1).max(MOST_CONFIRMED) });

/** Largest number of runs in one call of `restorePoints`. */
export const MOST_POINTS = 16;
/** Asks from which checkpoints the node's runs can continue, by the hub's record. */
export const restorePointsInput = z.object({ runs: z.array(runName).max(MOST_POINTS) });

/** Largest number of checkpoints in an answer of `listKept`. */
export const MOST_KEPT = 200;
export const listKeptInput = z.object({ run: runName });
/** One checkpoint in the answer of `listKept`. */
export type KeptCheckpoint = FoundCheckpoint & { sizeBytes: number };
