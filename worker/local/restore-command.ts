import { resolve } from "node:path";
import * as z from "zod";
import type { RestoreAnswer } from "#protocol/local.ts";
import { formatCount } from "#protocol/units.ts";
import { stateFolder } from "../host/state-folder.ts";
import { usage, type Verb } from "../verbs/verb.ts";
import { askLocal } from "./ask-local.ts";
import { readRunAtStep } from "./read-run-at-step.ts";

const answer: z.ZodType<RestoreAnswer> = z.object({
  run: z.string(),
  step: z.number(),
  path: z.string(),
  checkpointId: z.string(),
});

/** `tidemark restore RUN[@STEP] DIR`, by the worker of this machine. Faults: BAD_INPUT, NO_WORKER, those of a restore. */
export async function restoreRun({ config, operands, terminal, signal, home }: Verb): Promise<number> {
  const [what, path, extra] = operands;
  if (what === undefined || path === undefined || extra !== undefined) {
    throw usage("restore", "it takes a run and a folder: tidemark restore RUN[@STEP] DIR");
  }
  const wanted = { ...readRunAtStep(what, "tidemark restore RUN[@STEP] DIR"), path: resolve(path) };
  const state = await stateFolder(config.text("state"), home);
  const restored = await askLocal(state, { asked: "POST /v1/restore", body: wanted, answer, signal });
  const text = `Restored ${restored.run} step ${formatCount(restored.step)} to ${restored.path}.`;
  terminal.result(text, { type: "restored", ...restored });
  return 0;
}
