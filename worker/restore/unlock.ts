import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { isSealed, openManifest } from "#storage/encryption/open-manifest.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import type { RestoreJob } from "./restore-job.ts";

/** A manifest as it can be restored. */
export interface Unlocked {
  manifest: StoredManifest;
  /** Key of the checkpoint; null: it is not encrypted. In memory only, while the restore lasts. */
  key: Buffer | null;
}

/**
 * Asks the hub for the key of an encrypted checkpoint; waits while the hub is away.
 * Faults: SEAL_KEY_REFUSED, SEAL_KEY_MISSING, SEAL_BROKEN, those of the hub, CANCELLED.
 */
export async function unlock(
  clock: Clock,
  job: Pick<RestoreJob, "hub" | "signal">,
  read: StoredManifest,
): Promise<Unlocked> {
  if (!isSealed(read)) return { manifest: read, key: null };
  for (let tries = 0; ; tries++) {
    try {
      const answer = await job.hub.ask("releaseKey", (client, limit) =>
        client.node.releaseKey.mutate({ checkpointId: read.id }, { signal: limit }),
      );
      const key = Buffer.from(answer.key, "base64url");
      return { manifest: openManifest(read, key), key };
    } catch (error) {
      if (!isFault(error) || error.retry === "never" || job.signal.aborted) throw error;
      await clock.sleep(200 + jitter(clock, tries), job.signal);
    }
  }
}
