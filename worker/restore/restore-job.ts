import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import type { GroupMember } from "#protocol/checkpoint/pieces.ts";
import type { Command } from "#protocol/wire/commands.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Tally } from "../transfer/progress/transfer-progress.ts";
import type { Layout } from "./placement/layout.ts";
import type { Replaced } from "./placement/put-in-place.ts";
import type { AskedDisk, Impossible } from "./placement/safe-place.ts";

/** What the hub or the agent orders of one restore. */
export type RestoreCommand = Extract<Command, { kind: "restore" }>;

/** One restore, and who is told of its stages. */
export interface RestoreJob {
  command: RestoreCommand;
  hub: Hub;
  /** The home whose copy is read; left out: the one that the checkpoint's row names. */
  profileId?: string;
  /** What the hub said of that copy already; left out: it is asked. */
  manifest?: StoredManifest;
  /** Folder of journals. */
  journals: string;
  signal: AbortSignal;
  onStart(tally: Tally): void;
  /** Before the folder gets its name: it must not be captured as something new. Returns its fingerprint, where it is known. */
  beforePlaced(staging: string, target: string, layout: Layout): Promise<string | undefined>;
  /** The whole checkpoint has its name now; `fingerprint` is that of `beforePlaced`. */
  afterPlaced?(target: string, layout: Layout, stored: { checkpointId: string; fingerprint: string }): Promise<void>;
  /** What becomes of a folder of that name. */
  replaced: Replaced;
  /** Which names the disk takes; left out: it is asked. */
  disk?: AskedDisk;
  /** Files that are not restored because the disk cannot hold their names, where the order allows that. */
  onLeftOut?(files: readonly Impossible[]): void;
  /** Which of the nodes that wrote the pieces it is for; left out: for any, with all of them. */
  member?: GroupMember;
  /** What its manifest says of it. */
  onOrigin?(origin: Origin): void;
  /** Before anything is written. Faults: those of `assertPlace`. */
  mayPlace?(target: string): Promise<void>;
  /** The bytes in the store are not those that were committed. */
  onDamage?(report: DamageReport): void;
}

/** What a checkpoint is, and who wrote it. */
export interface Origin {
  writerEpoch: number;
  /** Null of what another tool wrote. */
  node: { id: string; name: string } | null;
  /** Files that run code when they are loaded, among those that are restored. */
  pickles: number;
  /** Null of a checkpoint. */
  role: CheckpointRole | null;
  /** Names of other checkpoints that its framework compares with it. */
  siblings: readonly string[];
}
