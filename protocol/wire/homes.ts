import * as z from "zod";
import { manifest, type Manifest } from "../checkpoint/checkpoint.ts";
import { nodeStore, type NodeStore } from "./hello.ts";
import { attemptId, id, runName } from "../base/names.ts";
import type { Sealing } from "../checkpoint/sealing.ts";

/**
 * The homes of a run: the bucket profiles in which its checkpoints lie, in an order that people gave. A checkpoint is safe as
 * soon as it is complete in one of them; what lies in the others are copies, each with a manifest of its own in its own
 * bucket, under an attempt of its own, of the same checkpoint. A run that nobody gave homes has one: its profile.
 */
export const MOST_HOMES = 4;

/** Of one copy. `torn`: nobody goes on with it; another attempt may follow. */
export const COPY_STATES = ["copying", "complete", "torn"] as const;
export const copyState = z.enum(COPY_STATES);
export type CopyState = z.infer<typeof copyState>;

export const COPY_MOVES: Readonly<Record<CopyState, readonly CopyState[]>> = {
  copying: ["complete", "torn"],
  torn: ["copying"],
  complete: [],
};
export const mayCopyBecome = (from: CopyState, to: CopyState): boolean => COPY_MOVES[from].includes(to);

/** A home as a node is told of it: nearest first, by what is known of this node's link to each. */
export const runHomes = z.object({
  run: runName,
  /** In how many homes a checkpoint is to lie. */
  copies: z.number().int().min(1).max(MOST_HOMES),
  homes: z
    .array(
      z.object({
        store: nodeStore,
        /** Expected of an upload of this node there; null: nobody knows. */
        bytesPerSecond: z.number().nonnegative().nullable(),
      }),
    )
    .max(MOST_HOMES),
});
export type RunHomes = z.infer<typeof runHomes>;

export const runHomesInput = z.object({ run: runName });
/** Before the first byte of a copy. A new attempt for the same home replaces the one before. */
export const beginCopyInput = z.object({ checkpointId: id, profileId: id, attempt: attemptId });
/** `isWanted: false`: it is there already, the checkpoint is gone, or the bucket is no home of the run any more. */
export interface BeginCopyAnswer {
  isWanted: boolean;
}
export const commitCopyInput = z.object({ manifest });

/** What a checkpoint can be read from: complete copies, the one to take first at the front. */
export interface CopyOffer {
  store: NodeStore;
  isDamaged: boolean;
  /** Expected of a download to this node; null: nobody knows. */
  bytesPerSecond: number | null;
}

/** A bucket that a node cannot reach, so that it saves elsewhere. */
export const homeAway = z.object({
  profileId: id,
  /** By the node's clock. */
  since: z.number().int().min(0).max(8_640_000_000_000_000),
  code: z.string().max(64),
});
export type HomeAway = z.infer<typeof homeAway>;

/** `profileIds`: all of them, in their order. `copies`: in how many a checkpoint is to lie; null: in all. */
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
  /** Complete checkpoints of the run there. */
  complete: number;
  bytes: number;
  newestStep: number | null;
  /** What the bucket asks for. A run is encrypted as the strictest of its homes asks. */
  sealing: Sealing;
  /** Nodes that cannot reach it now, and since when; null while it can be reached as far as anybody knows. */
  away: { nodes: number; since: number } | null;
}

export interface RunHomesView {
  run: string;
  homes: HomeView[];
  /** In how many a checkpoint is to lie; null: in all. */
  copies: number | null;
  /** Complete checkpoints that do not lie in as many homes as they should; `newest` says whether the newest is one of them. */
  behind: { checkpoints: number; newest: boolean };
  /** Buckets that could become homes. */
  others: { profileId: string; name: string; bucket: string }[];
}

/** One place where a checkpoint lies, or is on its way to. */
export interface CopyView {
  profileId: string;
  name: string;
  bucket: string;
  state: CopyState;
  /** The one that is read where nobody says otherwise. */
  isFirst: boolean;
  committedAt: number | null;
  verifiedAt: number | null;
  damagedAt: number | null;
  location: string;
  /** A node cannot reach it now. */
  isAway: boolean;
}

/** What two copies of one checkpoint have in common: everything but where their objects lie and what the store calls them. */
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
