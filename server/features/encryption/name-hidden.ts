import { isFault } from "#protocol/faults/fault.ts";
import { HIDDEN_FOLDER } from "#protocol/checkpoint/sealing.ts";
import { forgetFiles } from "#server/core/checkpoints/manifest/checkpoint-files.ts";
import { parseStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";
import type { Unlocking } from "#server/core/checkpoints/key-of-checkpoint.ts";
import { unlockManifest } from "#server/core/checkpoints/key-of-checkpoint.ts";

/**
 * Restores file names in the record of checkpoints that were read from the bucket before their key was known, with hidden
 * names. A checkpoint that cannot be opened keeps the hidden names. Returns how many were restored.
 */
export async function nameHidden(hub: Unlocking, keyId: string): Promise<number> {
  const rows = await hub.db.checkpoint.findMany({
    where: { sealKeyId: keyId, content: { files: { contains: `"${HIDDEN_FOLDER}/` }, manifest: { not: null } } },
    select: { id: true, manifestSha256: true },
  });
  let named = 0;
  for (const { id: checkpointId, manifestSha256 } of rows) {
    const content = await hub.db.checkpointContent.findUniqueOrThrow({ where: { checkpointId } });
    try {
      const { manifest } = await unlockManifest(hub, await parseStored(content.manifest ?? "null"));
      const files = JSON.stringify(manifest.files.map(({ path, sizeBytes }) => ({ path, sizeBytes })));
      await hub.db.checkpointContent.update({ where: { checkpointId }, data: { files } });
      forgetFiles(manifestSha256);
      named++;
    } catch (error) {
      if (!isFault(error)) throw error;
    }
  }
  return named;
}
