import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { isSealed, openManifest } from "#storage/encryption/open-manifest.ts";
import type { readRunToRestore } from "../../local-api/read-run-at-step.ts";
import type { ReadableCheckpoint } from "../../restore/inspect-stored.ts";
import { chooseWanted, choosingFrom } from "../../standalone/choose-checkpoint.ts";
import { keyOfCheckpoint, type KeyFile } from "../../standalone/key-file.ts";
import type { OpenBucket } from "../../standalone/open-standalone.ts";
import type { ListedCheckpoint } from "../../standalone/run-record.ts";

/** A bucket of --to in which a command looks for a checkpoint. */
export interface Looking {
  opened: Pick<OpenBucket, "engine" | "records">;
  /** Keys of encrypted checkpoints; null: none. */
  keyFile: KeyFile | null;
  signal: AbortSignal;
}

/**
 * Finds a checkpoint of a bucket by its run and step, and decrypts its manifest. `op`: the command that asks.
 * Faults: NOT_FOUND, SEAL_KEY_NEEDED, SEAL_BROKEN, those of the store.
 */
export async function openStored(
  { opened, keyFile, op }: Omit<Looking, "signal"> & { op: string },
  point: ReturnType<typeof readRunToRestore>,
): Promise<ReadableCheckpoint & { listed: ListedCheckpoint }> {
  const { engine, records } = opened;
  const { run, step } = point;
  const chosen = await chooseWanted(choosingFrom(records, await records.read(run)), point);
  if (chosen === null) {
    const detail =
      step === undefined ? "it has no complete checkpoint" : `it has no complete checkpoint of ${stepText(step)}`;
    throw new Fault("NOT_FOUND", { op, subject: run, detail });
  }
  const { manifest: stored, listed } = chosen;
  const key = isSealed(stored) ? keyOfCheckpoint(keyFile, stored) : null;
  const manifest = key !== null && isSealed(stored) ? openManifest(stored, key) : stored;
  return { engine, manifest, key, listed };
}
