import { tmpdir } from "node:os";
import { join } from "node:path";
import { createScratchFile, type ScratchFile } from "../listing/scratch-file.ts";
import { findState } from "./bench.ts";
import type { Verb } from "./verb.ts";

/** Runs what makes lists of any length. They lie beside the journals, because a folder for what is temporary may be memory. */
export async function withScratch<T>(verb: Verb, work: (scratch: ScratchFile) => Promise<T>): Promise<T> {
  const state = await findState(verb);
  const scratch = createScratchFile(state === null ? tmpdir() : join(state, "copies"));
  try {
    return await work(scratch);
  } finally {
    scratch.close();
  }
}
