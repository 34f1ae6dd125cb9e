import type { CheckpointInspection } from "#protocol/checkpoint/inspect.ts";
import { summariseCheckpoint } from "#storage/inspect/summarise.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { openCheckpoint } from "#server/core/checkpoints/find-file.ts";
import { inspectFiles } from "#server/core/checkpoints/inspect-files.ts";

/**
 * Summarizes all files of a checkpoint: its tensors together, and each file without them.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, CHECKSUM_MISMATCH, CANCELLED
 */
export async function inspectCheckpoint(
  hub: Hub,
  checkpointId: string,
  signal: AbortSignal,
): Promise<CheckpointInspection> {
  const checkpoint = await openCheckpoint(hub, checkpointId);
  const inspected = await inspectFiles(hub, checkpoint, signal);
  return summariseCheckpoint({ checkpointId, manifest: checkpoint.manifest }, inspected);
}
