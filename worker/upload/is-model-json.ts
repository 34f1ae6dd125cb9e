import { open } from "node:fs/promises";

/** `{"learner":` begins every model that XGBoost writes as JSON; its keys are sorted. */
const XGBOOST = /^\s*\{\s*"learner"\s*:/;
const READ_BYTES = 64;

/** Returns whether a JSON file is a model: its first bytes tell it from settings. No faults. */
export async function isModelJson(path: string): Promise<boolean> {
  if (!/\.json$/i.test(path)) return false;
  try {
    const handle = await open(path, "r");
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, 0);
      return XGBOOST.test(buffer.toString("latin1", 0, bytesRead));
    } finally {
      await handle.close();
    }
  } catch {
    return false;
  }
}
