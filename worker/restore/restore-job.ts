import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import type { GroupMember } from "#protocol/checkpoint/pieces.ts";
import type { ShownPlace } from "#protocol/checkpoint/place.ts";
import type { Command } from "#protocol/wire/commands.ts";
import type { Unreadable } from "#storage/answers/archived-fault.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import type { Layout } from "./placement/layout.ts";
import type { OnRefused } from "./placement/owner.ts";
import type { Replaced } from "./placement/put-in-place.ts";
import type { AskedDisk, Impossible } from "./placement/safe-place.ts";

/** Command of the hub or of the agent for one restore. */
export type RestoreCommand = Extract<Command, { kind: "restore" }>;

/** One restore, with callbacks for its stages. */
export interface RestoreJob {
  command: RestoreCommand;
  hub: Hub;
  /** Bucket profile of the copy that is read; left out: the one in the hub's row of the checkpoint. */
  profileId?: string;
  /** Manifest of that copy, when the hub has sent it already; left out: the hub is asked. */
  manifest?: StoredManifest;
  /** Objects of that copy that cannot be read now, when the hub has named them already. */
  archived?: readonly Unreadable[];
  /** Folder of journals. */
  journals: string;
  signal: AbortSignal;
  onStart(counters: ProgressCounters): void;
  /**
   * Called before the folder gets its name, so that it is not captured as a new checkpoint. Returns its fingerprint, if known.
   */
  beforePlaced(staging: string, target: string, layout: Layout): Promise<string | undefined>;
  /** Called when the whole checkpoint has its name; `fingerprint` is that of `beforePlaced`. */
  afterPlaced?(target: string, layout: Layout, stored: { checkpointId: string; fingerprint: string }): Promise<void>;
  /** Handles a folder that the restore replaces. */
  replaced: Replaced;
  /** Tells which names the disk takes; left out: the disk is tested. */
  disk?: AskedDisk;
  /** Called with files that the disk cannot name, when the command allows leaving them out. */
  onLeftOut?(files: readonly Impossible[]): void;
  /** Rank of the node, among those that wrote pieces, that it is for; left out: all pieces are restored. */
  member?: GroupMember;
  /** Called with an owner or modes that the disk does not accept. */
  onRefused?: OnRefused;
  /** Called with the facts of the manifest. */
  onOrigin?(origin: Origin): void;
  /** Called before anything is written. Faults: those of `assertPlace`. */
  assertMayPlace?(target: string): Promise<void>;
  /** Called when bytes in the store are not those that were committed. */
  onDamage?(report: DamageReport): void;
}

/** Facts of a manifest about its checkpoint and who wrote it. */
export interface Origin {
  writerEpoch: number;
  /** Null for a checkpoint of another tool. */
  node: { id: string; name: string } | null;
  /** Restored files that run code when they are loaded. */
  pickles: number;
  /** Why the checkpoint may not be whole; null when it is, as far as its files tell. */
  doubt: string | null;
  /** Null for an ordinary checkpoint. */
  role: CheckpointRole | null;
  /** Other checkpoints that the framework compares with it. */
  siblings: readonly string[];
  /** Where it lies in its watched folder. */
  place: ShownPlace;
}
