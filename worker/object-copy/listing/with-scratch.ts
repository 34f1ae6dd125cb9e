import { tmpdir } from "node:os";
import { join } from "node:path";
import { stateChoices } from "#worker/host/state-folder.ts";
import { createScratchFile, type ScratchFile } from "./scratch-file.ts";
import { keepsState } from "#worker/store-session/store-session.ts";
import type { Verb } from "#worker/command-line/verb.ts";

/** Runs `work` with a scratch file for long lists. It lies beside the journals, because the temporary folder may be a tmpfs. */
export async function withScratch<T>(verb: Verb, work: (scratch: ScratchFile) => Promise<T>): Promise<T> {
  const states = keepsState(verb) ? stateChoices(verb.config.text("state"), verb.home) : [];
  const scratch = createScratchFile([...states.map((state) => join(state, "copies")), tmpdir()]);
  try {
    return await work(scratch);
  } finally {
    scratch.close();
  }
}
