import { isAdopted, type ExtentSums, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { RestoreJob } from "./restore-job.ts";

/**
 * Tells the hub the checksums of a checkpoint of another tool, which came without any. Later restores are verified by them. A
 * failure to tell does not affect the restore.
 */
export async function tellSums(
  { hub, command }: Pick<RestoreJob, "hub"> & { command: Pick<RestoreJob["command"], "checkpointId"> },
  manifest: StoredManifest,
  sums: ExtentSums,
): Promise<void> {
  if (!isAdopted(manifest)) return;
  const isKnown = manifest.files.every(({ extents }) => extents.every(({ crc32 }) => crc32 !== null));
  if (isKnown) return;
  const { checkpointId } = command;
  await hub
    .ask("tellSums", (client, signal) => client.node.tellSums.mutate({ checkpointId, sums }, { signal }))
    .catch(() => undefined);
}
