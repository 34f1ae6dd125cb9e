import { abandonUpload } from "./send.ts";
import type { Engine } from "../engine.ts";

/** Waits this long for the store to forget an upload that is of no use. */
const ABANDON_MS = 4_000;

/** Tells the store to forget the parts. Best effort: the reason why it came to this is what counts. Never throws. */
export async function abandonInTime(engine: Engine, about: { key: string; uploadId: string }): Promise<void> {
  const { key, uploadId } = about;
  await abandonUpload(engine, { key, uploadId, signal: AbortSignal.timeout(ABANDON_MS) }).catch(() => undefined);
}
