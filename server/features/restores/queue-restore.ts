import type { Command } from "#protocol/wire/commands.ts";
import { runName, type FilePath } from "#protocol/base/names.ts";
import type { Checkpoint, Transfer } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { newId } from "#server/platform/random-id.ts";

interface Wanted {
  requestId: string;
  batchId: string;
  nodeId: string;
  checkpoint: Checkpoint;
  targetPath: string;
  /** Null: all files. */
  files: FilePath[] | null;
  /** Null: whole files. */
  tensors: string[] | null;
  amounts: { fileCount: number; sizeBytes: number };
  mayFallBack: boolean;
  /** Its position within its request. */
  position: number;
  at: Date;
}

/**
 * Stores a restore that waits for its turn. It is visible from now on; its node receives the command when the restore is
 * released.
 */
export async function queueRestore(tx: Transaction, wanted: Wanted): Promise<Transfer> {
  const { checkpoint, targetPath, files, tensors, amounts, nodeId, at } = wanted;
  const transferId = newId();
  const order: Command = {
    kind: "restore",
    mayLeaveOut: true,
    id: newId(),
    transferId,
    checkpointId: checkpoint.id,
    run: runName.parse(checkpoint.run),
    step: Number(checkpoint.step),
    targetPath,
    ...(files === null ? {} : { files }),
    ...(tensors === null ? {} : { tensors }),
  };
  const row = await tx.transfer.create({
    data: {
      id: transferId,
      nodeId,
      direction: "download",
      state: "waiting",
      checkpointId: checkpoint.id,
      run: checkpoint.run,
      step: checkpoint.step,
      bucket: checkpoint.bucket,
      place: targetPath,
      bytesDone: 0n,
      bytesTotal: BigInt(amounts.sizeBytes),
      sentBytes: 0n,
      filesDone: 0,
      filesTotal: amounts.fileCount,
      connections: 0,
      retries: 0,
      startedBy: "operator",
      createdAt: at,
    },
  });
  await tx.queuedRestore.create({
    data: {
      transferId,
      requestId: wanted.requestId,
      batchId: wanted.batchId,
      nodeId,
      profileId: checkpoint.profileId,
      checkpointId: checkpoint.id,
      body: JSON.stringify(order),
      mayFallBack: wanted.mayFallBack,
      position: wanted.position,
      createdAt: at,
    },
  });
  return row;
}
