import * as z from "zod";
import { manifest, type Manifest } from "../checkpoint/checkpoint.ts";
import { nodeStore, type NodeStore } from "./hello.ts";
import { attemptId, id, runName } from "../base/names.ts";
import type { Sealing } from "../checkpoint/sealing.ts";

/**
 * Homes of a run: the bucket profiles that store its checkpoints, in the order that people set. A checkpoint is safe as soon
 * as it is complete in one home. The other homes hold copies, each with its own manifest in its own bucket, under its own
 * attempt. A run without configured homes has one: its profile.
 */
export const MOST_HOMES = 4;

/** States of one copy. `torn`: nobody continues it; another attempt may follow. */
export const COPY_STATES = ["copying", "complete", "torn"] as const;
export const copyState = z.enum(COPY_STATES);
export type CopyState = z.infer<typeof copyState>;

export const COPY_MOVES: Readonly<Record<CopyState, readonly CopyState[]>> = {
  copying: ["complete", "torn"],
  torn: ["copying"],
  complete: [],
};
export const mayCopyBecome = (from: CopyState, to: CopyState): boolean => COPY_MOVES[from].includes(to);

/** Homes of a run as sent to a node: nearest first, by the known speed of this node's link to each. */
export const runHomes = z.object({
  run: runName,
  /** Number of homes in which a checkpoint must be stored. */
  copies: z.number().int().min(1).max(MOST_HOMES),
  homes: z
    .array(
      z.object({
        store: nodeStore,
        /** Expected upload rate of this node to that home; null: unknown. */
        bytesPerSecond: z.number().nonnegative().nullable(),
      }),
    )
    .max(MOST_HOMES),
});
export type RunHomes = z.infer<typeof runHomes>;

export const runHomesInput = z.object({ run: runName });
/** Sent before the first byte of a copy. A new attempt for the same home replaces the previous one. */
export const beginCopyInput = z.object({ checkpointId: id, profileId: id, attempt: attemptId });
/** `isWanted: false`: the copy exists, the checkpoint was deleted, or the bucket is no longer a home of the run. */
export interface BeginCopyAnswer {
  isWanted: boolean;
}
export const commitCopyInput = z.object({ manifest });

/** A complete copy that a restore can read; offers are sorted by preference. */
export interface CopyOffer {
  store: NodeStore;
  isDamaged: boolean;
  /** Expected download rate to this node; null: unknown. */
  bytesPerSecond: number | null;
}

/** A bucket that a node cannot reach, so that it saves to another one. */
export const homeAway = z.object({
  profileId: id,
  /** Epoch ms by the node's clock. */
  since: z.number().int().min(0).max(8_640_000_000_000_000),
  code: z.string().max(64),
});
export type HomeAway = z.infer<typeof homeAway>;

/** `profileIds`: all homes, in order. `copies`: number of homes that must store a checkpoint; null: all. */
export const setHomesInput = z
  .object({
    run: runName,
    profileIds: z
      .array(id)
      .min(1, "a run has at least one home")
      .max(MOST_HOMES, `a run has ${MOST_HOMES} homes at most`),
    copies: z.number().int().min(1).max(MOST_HOMES).nullable(),
  })
  .refine(({ profileIds }) => new Set(profileIds).size === profileIds.length, "a bucket profile is a home once")
  .refine(
    ({ copies, profileIds }) => copies === null || copies <= profileIds.length,
    "a checkpoint cannot lie in more homes than there are",
  );

export interface HomeView {
  profileId: string;
  name: string;
  bucket: string;
  prefix: string;
  provider: string;
  /** Number of the run's complete checkpoints there. */
  complete: number;
  bytes: number;
  newestStep: number | null;
  /** Encryption that the bucket requires. A run is encrypted as its strictest home requires. */
  sealing: Sealing;
  /** Number of nodes that cannot reach it, and since when; null while no node reports that. */
  away: { nodes: number; since: number } | null;
}

export interface RunHomesView {
  run: string;
  homes: HomeView[];
  /** Number of homes that must store a checkpoint; null: all. */
  copies: number | null;
  /** Complete checkpoints stored in too few homes; `newest`: whether the newest is one of them. */
  behind: { checkpoints: number; newest: boolean };
  /** Buckets that could become homes. */
  others: { profileId: string; name: string; bucket: string }[];
}

/** One bucket in which a checkpoint is stored or being stored. */
export interface CopyView {
  profileId: string;
  name: string;
  bucket: string;
  state: CopyState;
  /** Whether this copy is read by default. */
  isFirst: boolean;
  committedAt: number | null;
  verifiedAt: number | null;
  damagedAt: number | null;
  location: string;
  /** Whether a node cannot reach it now. */
  isAway: boolean;
}

/** Returns whether two copies hold the same checkpoint: everything is equal except the place of their objects and the ETags. */
export function sameContent(one: Manifest, other: Manifest): boolean {
  return JSON.stringify(contentOf(one)) === JSON.stringify(contentOf(other));
}

function contentOf({ attempt, homes, files, ...rest }: Manifest): unknown {
  const prefix = homes[0]?.prefix ?? "";
  const own = `/${attempt}/`;
  return {
    ...rest,
    files: files.map(({ extents, ...file }) => ({
      ...file,
      extents: extents.map((extent) => {
        const { key, etag: _, ...piece } = extent;
        return { ...piece, name: key.slice(prefix.length).split(own).slice(1).join(own) };
      }),
    })),
  };
}
