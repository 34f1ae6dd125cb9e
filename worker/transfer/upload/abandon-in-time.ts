import { abandonUpload } from "./send.ts";
import type { Engine } from "../engine.ts";

/** Longest wait for the store to delete a useless upload. */
const ABANDON_MS = 4_000;

/**
 * Tells the store to delete the parts of an upload. Best effort: the fault that led here is the one that counts. Never
 * throws.
 */
export async function abandonInTime(engine: Engine, about: { key: string; uploadId: string }): Promise<void> {
  const { key, uploadId } = about;
  await abandonUpload(engine, { key, uploadId, signal: AbortSignal.timeout(ABANDON_MS) }).catch(() => undefined);
}
