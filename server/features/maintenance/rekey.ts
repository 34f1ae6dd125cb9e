import { Fault } from "#protocol/faults/fault.ts";
import { forgetPreviousKeyFile, setKeyFileAside } from "#server/signer/master-key.ts";
import { openToolsAlone, type ToolsOptions } from "./command-line/tools.ts";

export interface Rekeyed {
  /** Version of the present master key. */
  keyVersion: number;
  /** Secrets that were sealed again. */
  rewrapped: number;
}

/**
 * Replaces the master key while no hub runs. With keys from the environment the new one is TIDEMARK_SECRET and the old one
 * TIDEMARK_SECRET_PREVIOUS; with a key file a new one is made. After an interruption at any point, the same command completes
 * it.
 * @throws Fault BAD_INPUT (which key is the old one?), FOLDER_IN_USE, MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK
 */
export async function rekey(options: ToolsOptions): Promise<Rekeyed> {
  if (options.secret !== null && options.previous === null) {
    const detail =
      "give the key that is being replaced in TIDEMARK_SECRET_PREVIOUS, and the new one in TIDEMARK_SECRET";
    throw new Fault("BAD_INPUT", { op: "rekey", subject: "the master key", detail });
  }
  const { dataFolder } = options;
  const isFile = options.secret === null;
  const tools = await openToolsAlone({ ...options, ...(isFile && { prepare: () => setKeyFileAside(dataFolder) }) });
  try {
    const canary = await tools.db.canary.findUniqueOrThrow({ where: { id: 1 } });
    if (isFile) await forgetPreviousKeyFile(dataFolder);
    return { keyVersion: canary.keyVersion, rewrapped: tools.rewrapped };
  } finally {
    await tools.close();
  }
}
