import { storedManifest, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { CopyOffer } from "#protocol/wire/homes.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import type { Hub } from "../hub-link/hub.ts";

/** What the hub says of a checkpoint. Of 50,000 files that is ten megabytes: asked for once, and handed on. */
export interface OfferedCheckpoint {
  manifest: StoredManifest;
  /** From where it may be read, best first. A hub that knows nothing of homes says none. */
  copies: readonly CopyOffer[];
}

export interface CheckpointWish {
  hub: Hub;
  signal: AbortSignal;
  command: { checkpointId: string };
  /** As it lies in this home; left out: in the one that the checkpoint's row names. */
  profileId?: string;
  /** Names that are hidden in the bucket stay so: for who copies it, and does not look into it. */
  asStored?: boolean;
}

/** Waits for a hub that is away: what was asked for is carried out. Faults: CHECKPOINT_INCOMPLETE, HOSTILE_NAME, those of the hub. */
export async function readCheckpoint(clock: Clock, wish: CheckpointWish): Promise<OfferedCheckpoint> {
  const { hub, signal, command, profileId, asStored } = wish;
  const { checkpointId } = command;
  const wanted = {
    checkpointId,
    ...(profileId !== undefined && { profileId }),
    ...(asStored === true && { asStored }),
  };
  for (let tries = 0; ; tries++) {
    try {
      const { manifest, copies } = await hub.ask("readCheckpoint", (client, limit) =>
        client.node.readCheckpoint.query(wanted, { signal: limit }),
      );
      return { manifest: parseManifest(command, manifest), copies: copies ?? [] };
    } catch (error) {
      if (!isFault(error) || error.retry === "never" || signal.aborted) throw error;
      await clock.sleep(200 + jitter(clock, tries), signal);
    }
  }
}

/** The hub parsed it too; names are checked again where they touch the disk. Faults: HOSTILE_NAME, CHECKPOINT_INCOMPLETE. */
export function parseManifest(command: CheckpointWish["command"], value: unknown): StoredManifest {
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
