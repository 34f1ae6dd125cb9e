import { tmpdir } from "node:os";
import { join } from "node:path";
import { stateChoices } from "#worker/host/state-folder.ts";
import { createScratchFile, type ScratchFile } from "./scratch-file.ts";
import { keepsState } from "#worker/store-session/store-session.ts";
import type { CommandContext } from "#worker/command-line/command-context.ts";

/** Runs `work` with a scratch file for long lists. It lies beside the journals, because the temporary folder may be a tmpfs. */
export async function withScratch<T>(context: CommandContext, work: (scratch: ScratchFile) => Promise<T>): Promise<T> {
  const states = keepsState(context) ? stateChoices(context.config.text("state"), context.home) : [];
  const scratch = createScratchFile([...states.map((state) => join(state, "copies")), tmpdir()]);
  try {
    return await work(scratch);
  } finally {
    scratch.close();
  }
}
