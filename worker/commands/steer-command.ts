import * as z from "zod";
import type { steerInput, SteerAnswer } from "#protocol/local-api/local.ts";
import { formatCount } from "#protocol/base/units.ts";
import { stateFolder } from "../host/state-folder.ts";
import { usage, type CommandContext } from "../command-line/command-context.ts";
import { askLocal } from "../local-api/ask-local.ts";
import { readRunAtStep } from "../local-api/read-run-at-step.ts";

const answer: z.ZodType<SteerAnswer> = z.object({ uploads: z.number() });
const DID = { pause: "Paused", resume: "Resumed", retry: "Trying again:", cancel: "Cancelled" } as const;

/**
 * Implements `tidemark pause|resume|retry|cancel [RUN[@STEP]]`. Cancels all transfers only with --all, because a
 * cancellation cannot be undone. Faults: BAD_INPUT, NO_WORKER.
 */
export const steerUploads =
  (action: z.infer<typeof steerInput>["wish"]) =>
  async ({ config, operands, terminal, signal, home }: CommandContext): Promise<number> => {
    const [what, extra] = operands;
    const shown = `tidemark ${action} ${action === "cancel" ? "RUN[@STEP]|--all" : "[RUN[@STEP]]"}`;
    const isUnsaid = action === "cancel" && (what === undefined) !== config.isOn("all");
    if (extra !== undefined || isUnsaid) throw usage(action, `it takes a run: ${shown}`);
    const which: ReturnType<typeof readRunAtStep> | null = what === undefined ? null : readRunAtStep(what, shown);
    const state = await stateFolder(config.text("state"), home);
    const { uploads } = await askLocal(state, {
      asked: "POST /v1/steer",
      body: { wish: action, ...which },
      answer,
      signal,
    });
    const text = `${DID[action]} ${uploads === 1 ? "one upload" : `${formatCount(uploads)} uploads`} of ${what ?? "this machine"}.`;
    terminal.result(text, {
      type: "steered",
      wish: action,
      run: which?.run ?? null,
      step: which?.step ?? null,
      uploads,
    });
    return 0;
  };
