import { isAdopted, type ExtentSums, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { RestoreJob } from "./restore-job.ts";

/**
 * What another tool wrote came without checksums: the hub is told those of what was read, so that later restores are held to
 * them. The restore is done whether or not the hub hears it.
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
