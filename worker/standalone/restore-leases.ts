import { randomUUID } from "node:crypto";
import type { NodeName, RunName } from "#protocol/base/names.ts";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { BucketCalls } from "./bucket-calls.ts";

/**
 * Announces restores to the other nodes of a bucket, so that the writer of the run deletes no objects that are being
 * read. Each announcement is one small object, valid for a few minutes after its last write, by the store's clock.
 */
export interface RestoreLeases {
  /** Returns the ids of the checkpoints of a run that any node is restoring. Faults: those of the store. */
  restoring(run: RunName): Promise<ReadonlySet<string>>;
  /**
   * Announces a restore, and renews the announcement until the returned function is called. `when`: at once, or only if
   * the restore takes long. Keys without write permission announce nothing. Faults: CANCELLED.
   */
  announce(about: { run: RunName; checkpointId: string }, when: "now" | "late"): Promise<() => Promise<void>>;
}

/** Time for which an announcement is valid after it was written, ms. */
export const RESTORE_LEASE_MS = 5 * 60_000;
const RENEW_MS = RESTORE_LEASE_MS / 3;
/**
 * Far below the shortest time in the trash, which passes before a checkpoint is deleted whose restore began outside of
 * the trash.
 */
const LATE_MS = 3_600_000;

const LEASE_NAME = /^([A-Za-z0-9-]{8,64})\/[A-Za-z0-9-]{8,64}\.json$/;

const folderOf = (prefix: string, run: RunName): string => `${prefix}${OWN_FOLDERS.own}restores/${run}/`;

export function createRestoreLeases(
  { calls, prefix }: { calls: BucketCalls; prefix: string },
  node: { id: string; name: NodeName },
): RestoreLeases {
  /** Number of restores in this process, by checkpoint. */
  const own = new Map<string, number>();
  const count = (checkpointId: string, more: 1 | -1) => {
    const left = (own.get(checkpointId) ?? 0) + more;
    if (left > 0) own.set(checkpointId, left);
    else own.delete(checkpointId);
  };
  return {
    restoring: async (run) => {
      const folder = folderOf(prefix, run);
      const restoring = new Set(own.keys());
      const expired: string[] = [];
      for await (const { key, modifiedAtMs } of calls.list(folder)) {
        const [, checkpointId] = LEASE_NAME.exec(key.slice(folder.length)) ?? [];
        if (checkpointId === undefined) continue;
        if (modifiedAtMs !== null && modifiedAtMs + RESTORE_LEASE_MS < calls.now()) expired.push(key);
        else restoring.add(checkpointId);
      }
      // Left by nodes that were lost during a restore.
      for (const key of expired) await calls.remove(key);
      return restoring;
    },
    announce: async ({ run, checkpointId }, when) => {
      const key = `${folderOf(prefix, run)}${checkpointId}/${randomUUID()}.json`;
      const write = async () => {
        const body = { format: "tidemark.restore", version: 1, run, checkpointId, node, at: Math.round(calls.now()) };
        await calls.write(key, JSON.stringify({ ...body, nonce: randomUUID() })).catch(unlessCancelled);
      };
      count(checkpointId, 1);
      const beganAt = performance.now();
      let isWritten = when === "now";
      if (isWritten) await write();
      // Writes follow each other, so that none is carried out after the removal.
      let queue: Promise<void> = Promise.resolve();
      const renewing = setInterval(() => {
        if (!isWritten && performance.now() - beganAt < LATE_MS) return;
        isWritten = true;
        queue = queue.then(write).catch(() => undefined);
      }, RENEW_MS).unref();
      return async () => {
        count(checkpointId, -1);
        clearInterval(renewing);
        await queue;
        if (isWritten) await calls.remove(key).catch(() => undefined);
      };
    },
  };
}

function unlessCancelled(error: unknown): void {
  if (!isFault(error) || error.code === "CANCELLED") throw error;
}
