import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { usage } from "../command-line/command-context.ts";

/** Reads `llama@500`, step 500 of the run llama, or `llama`, the whole run. @throws Fault BAD_INPUT with the right form */
export function readRunAtStep(text: string, shown: string): { run: RunName; step?: number } {
  const [, name = "", step] = /^([^@]*)(?:@(\d{1,12}))?$/.exec(text) ?? [];
  const run = runName.safeParse(name);
  if (!run.success) throw usage(text, `it is no run, or no run@step: ${shown}`);
  return { run: run.data, ...(step !== undefined && { step: Number(step) }) };
}

/** Reads the same forms and `llama@final`, the final model of the run. @throws Fault BAD_INPUT with the right form */
export function readRunToRestore(text: string, shown: string): { run: RunName; step?: number; role?: CheckpointRole } {
  const [, name] = /^([^@]*)@final$/.exec(text) ?? [];
  return name === undefined ? readRunAtStep(text, shown) : { ...readRunAtStep(name, shown), role: "final-model" };
}
