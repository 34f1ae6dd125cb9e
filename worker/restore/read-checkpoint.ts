import { isAdopted, storedManifest, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { CopyOffer } from "#protocol/wire/homes.ts";
import { jitter } from "../base/breaker.ts";
import type { Unreadable } from "#storage/answers/archived-fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Hub } from "../hub-link/hub.ts";

/** The hub's answer about a checkpoint. For 50,000 files it has ten megabytes, so it is asked for once and handed on. */
export interface OfferedCheckpoint {
  manifest: StoredManifest;
  /** Buckets from which it may be read, best first. An older hub names none. */
  copies: readonly CopyOffer[];
  /** Keys of objects that are archived, so that files with bytes in them cannot be restored now. */
  archived: readonly Unreadable[];
}

export interface CheckpointRequest {
  hub: Hub;
  signal: AbortSignal;
  command: { checkpointId: string };
  /** Bucket profile of the copy; left out: the one in the hub's row of the checkpoint. */
  profileId?: string;
  /** Whether hidden names stay hidden, for a caller that copies the checkpoint without looking into it. */
  asStored?: boolean;
  /** Whether archived objects are named in the answer; left out: the hub refuses a checkpoint that has any. */
  withArchived?: boolean;
}

/**
 * Reads a manifest from the hub; waits while the hub is away. Faults: CHECKPOINT_INCOMPLETE, HOSTILE_NAME, OBJECT_ARCHIVED,
 * OBJECT_BEING_RESTORED, those of the hub.
 */
export async function readCheckpoint(clock: Clock, request: CheckpointRequest): Promise<OfferedCheckpoint> {
  const { hub, signal, command, profileId, asStored, withArchived } = request;
  const { checkpointId } = command;
  const wanted = {
    checkpointId,
    ...(profileId !== undefined && { profileId }),
    ...(asStored === true && { asStored }),
    ...(withArchived === true && { withArchived }),
  };
  for (let tries = 0; ; tries++) {
    try {
      const { copies, archived, doubt, ...answer } = await hub.ask("readCheckpoint", (client, limit) =>
        client.node.readCheckpoint.query(wanted, { signal: limit }),
      );
      const manifest = parseManifest(command, answer.manifest);
      // One that is copied stays as it was committed.
      const isDoubtful = doubt !== undefined && asStored !== true && !isAdopted(manifest);
      const offered = isDoubtful ? { ...manifest, doubt } : manifest;
      return { manifest: offered, copies: copies ?? [], archived: archived ?? [] };
    } catch (error) {
      if (!isFault(error) || error.retry === "never" || signal.aborted) throw error;
      await clock.sleep(200 + jitter(clock, tries), signal);
    }
  }
}

/** Parses a manifest again, because its names touch the disk here. Faults: HOSTILE_NAME, CHECKPOINT_INCOMPLETE. */
export function parseManifest(command: CheckpointRequest["command"], value: unknown): StoredManifest {
  const parsed = storedManifest.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const isName = issue?.path.includes("path") === true;
  throw new Fault(isName ? "HOSTILE_NAME" : "CHECKPOINT_INCOMPLETE", {
    op: "readCheckpoint",
    subject: command.checkpointId,
    ...(issue === undefined ? {} : { detail: issue.message }),
  });
}
