import * as z from "zod";
import { byteCount, count, MOST_LABELS, recordOf } from "../base/bounded.ts";
import { checkpointRole, type CheckpointRole } from "../checkpoint/checkpoint.ts";
import { anyEpoch, id, nodeName, runName, step } from "../base/names.ts";
import { storeTraits } from "./operations.ts";
import { packing } from "../checkpoint/packing.ts";
import { groupClaim } from "../checkpoint/pieces.ts";
import type { ShownPlace } from "../checkpoint/place.ts";
import { nodeSealing } from "../checkpoint/sealing.ts";
import { storeTrust } from "./store-trust.ts";

/** How a node comes to the hub: it enrols once with a join token, then says hello at every start with its own credential. */

/** Facts about the machine. All of it is a stranger's word: shown, never trusted. */
export const nodeFacts = z.object({
  hostname: z.string().max(255),
  platform: z.string().max(64),
  cpus: z.number().int().min(0).max(4096),
  memoryBytes: byteCount,
  gpu: z.string().max(128).nullable(),
  /** Free text from `--label key=value`, for example region=us-east. */
  labels: recordOf(z.string().max(32), z.string().max(128), MOST_LABELS),
  /** SALAD_MACHINE_ID and the like; null elsewhere. */
  machineId: z.string().max(128).nullable(),
  workerVersion: z.string().max(32),
});
export type NodeFacts = z.infer<typeof nodeFacts>;

/** Of a node of which only the name is known. */
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

/** What lets a node in: a join token, or the word of its platform about the workload that it is. One of them. */
export const enrolInput = z
  .object({
    token: z.string().min(16).max(256).optional(),
    saladJwt: z.string().min(16).max(4096).optional(),
    name: nodeName,
    protocol: count,
    facts: nodeFacts,
    /** The runs that it will write. Left out by a worker that knows none yet, and by older ones: then its first claim names it. */
    runs: z.array(runName).max(64).optional(),
  })
  .refine(
    ({ token, saladJwt }) => (token === undefined) !== (saladJwt === undefined),
    "a node enrols with a join token or with a workload's identity",
  );

/** A node's credential is made by the node when it is replaced; the hub is told its SHA-256, in hex, and never itself. */
export const rotateInput = z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/, "not a SHA-256") });
export interface RotateAnswer {
  /** Epoch ms by the hub's clock: from then on only the new one is good. At its first use the old one ends at once. */
  overlapUntil: number;
}
export interface EnrolAnswer {
  nodeId: string;
  /** May differ from the wished name when that one is taken: a number is appended. */
  name: string;
  /** The node's own credential; sent as `Authorization: Bearer`. Shown once. */
  credential: string;
}

export const helloInput = z.object({
  protocol: count,
  /** New at every start of the worker: tells a restart from a reconnection. */
  bootId: id,
  facts: nodeFacts,
});

/** Where this node's bytes go. The endpoint is for display and for probing; every request is signed by the hub. */
export const nodeStore = z.object({
  profileId: id,
  profileName: z.string(),
  bucket: z.string(),
  endpoint: z.string(),
  prefix: z.string(),
  traits: storeTraits,
  /** Left out: what is asked of every store's certificate. */
  trust: storeTrust.optional(),
  /** Left out by a hub that knows nothing of packs. */
  packing: packing.optional(),
  /** Null or left out: files go as they are. */
  sealing: nodeSealing.nullish(),
});
export type NodeStore = z.infer<typeof nodeStore>;

export const nodeSettings = z.object({
  /** How often the hub wants progress: about 1 s while somebody looks, 5 to 15 s otherwise. */
  reportEveryMs: z.number().int().min(200).max(60_000),
  /** Over how long the fleet comes back when its hub was away; left out by a hub that says nothing of it. */
  returnWithinMs: z.number().int().min(0).max(600_000).exactOptional(),
});
export type NodeSettings = z.infer<typeof nodeSettings>;

/** `final-model`: announcements and manifests with a role. `no-checkpoint`: refusals with the code NO_CHECKPOINT. `place`:
 * manifests with a place, and files beside a checkpoint. `line`: a claim that begins a new line. `kept`: `listKept`. `doubt`:
 * manifests that say why a checkpoint may not be whole. `pieces`: claims of several nodes, and pieces of one checkpoint. */
export const HUB_FEATURES = [
  "final-model",
  "no-checkpoint",
  "place",
  "line",
  "link-refused",
  "kept",
  "doubt",
  "pieces",
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
      /** Features beyond the first version of the protocol; absent from a hub that has none of them. */
      features?: readonly HubFeature[];
      /** Highest sequence number of durable events the hub holds of this node; the outbox may forget up to it. */
      acceptedThrough: number;
    }
  | { accepted: false; reason: "worker-too-old" | "worker-too-new"; hubProtocol: number };

/** The start of a run that a person chose (`--from`): a step, or the beginning. */
export const claimFrom = z.union([step, z.literal("beginning")]);
export type ClaimFrom = z.infer<typeof claimFrom>;

/**
 * `from`: a new epoch starts there, and what is newer is abandoned: it stays in the bucket and is not the newest any more. The
 * same `from` as the last one that was asked for changes nothing.
 */
export const claimEpochInput = z.object({
  run: runName,
  from: claimFrom.optional(),
  /** The program counts from a lower step again: the next epoch is opened, with no parent. Nothing is abandoned. */
  isLine: z.literal(true).optional(),
  /** Several nodes write the run together, each its pieces. */
  group: groupClaim.optional(),
});
export const openPiecesInput = z.object({ run: runName });
/** A step of which not all pieces are there. */
export interface OpenPieces {
  step: number;
  why: string;
}
/** The answer to `findCheckpoint`. */
export type FoundCheckpoint = z.infer<typeof checkpointRef> & {
  capturedAt: number;
  /** Where it lay in the watched folder; absent where the hub does not know. */
  place?: ShownPlace;
  isBefore?: true;
  role?: CheckpointRole;
};
export const checkpointRef = z.object({ checkpointId: id, run: runName, writerEpoch: anyEpoch, step });
export interface ClaimAnswer {
  epoch: number;
  parent: { epoch: number; step: number } | null;
  /** The newest complete checkpoint of the run, or null when the run truly has none. */
  newest: (z.infer<typeof checkpointRef> & { capturedAt: number; place?: ShownPlace }) | null;
  /** The answer to `from`; absent without one, and from a hub that does not know it. `isNew`: the epoch was opened for it. */
  from?: { isNew: boolean };
  /** A person chose where this epoch starts. */
  isChosen?: true;
  /** How many nodes write the epoch together; absent: one, and from a hub that does not know groups. */
  groupOf?: number;
  /** A later step than the newest, which may not be whole and is gone on from only when a person says so. */
  doubtful?: { step: number; why: string };
}

/**
 * Looks for a complete checkpoint of a run that the node writes: the newest, that of one step, or the one before a step. The
 * answer to `before` says `isBefore`: a hub that does not know it answers with the newest.
 */
export const findCheckpointInput = z.object({
  run: runName,
  step: step.optional(),
  before: step.optional(),
  /** The newest of this name, as its program calls it: `checkpoint-40`, `epoch=3-step=300.ckpt`. */
  name: z.string().min(1).max(255).optional(),
  /** In place of a checkpoint: the newest of these. The answer repeats it, for the same reason. */
  role: checkpointRole.optional(),
});

/** Most checkpoints that one call of `confirmComplete` asks about. */
export const MOST_CONFIRMED = 8;
/** Asks whether checkpoints are complete in their bucket now, before copies of them are removed. */
export const confirmCompleteInput = z.object({ checkpointIds: z.array(id).min(1).max(MOST_CONFIRMED) });

/** Most runs that one call of `restorePoints` asks about. */
export const MOST_POINTS = 16;
/** Asks what the runs that the node writes can be continued from, by the hub's record. */
export const restorePointsInput = z.object({ runs: z.array(runName).max(MOST_POINTS) });

/** Most checkpoints that `listKept` answers with. */
export const MOST_KEPT = 200;
export const listKeptInput = z.object({ run: runName });
/** One of the answer to `listKept`. */
export type KeptCheckpoint = FoundCheckpoint & { sizeBytes: number };
