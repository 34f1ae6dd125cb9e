import { readFile } from "node:fs/promises";
import * as z from "zod";
import { parseJson } from "#storage/inspect/parse-json.ts";
import { SEEN } from "#protocol/recognition/checkpoint-layouts.ts";
import type { LookedFile } from "./look.ts";

/** Facts that the framework wrote beside the tensors, as far as they are cheap to read. Every part may be missing. */
export interface Description {
  framework: string | null;
  metrics: Record<string, number>;
}

/** State that the Trainer writes beside the tensors; a file above `MOST_STATE_BYTES` is not read. */
export const TRAINER_STATE = "trainer_state.json";
export const MOST_STATE_BYTES = 16 * 1024 * 1024;
const MOST_METRICS = 32;
const trainerState = z.object({ log_history: z.array(z.record(z.string(), z.unknown())).optional() });

export async function describeCheckpoint(files: readonly LookedFile[]): Promise<Description> {
  const named = (name: string) => files.find(({ relative }) => relative === name);
  const state = named(TRAINER_STATE);
  if (state !== undefined) return { framework: "transformers", metrics: await metricsFrom(state) };
  const has = (pattern: RegExp) => files.some(({ relative }) => pattern.test(relative));
  if (has(/(^|\/)\.metadata$/)) return { framework: "torch-dcp", metrics: {} };
  if (has(SEEN.orbax) || has(/(^|\/)manifest\.ocdbt$/)) {
    // Orbax' `CheckpointManager` keeps its metrics in this item.
    const item = named("metrics/metrics");
    return { framework: "orbax", metrics: item === undefined ? {} : await metricsIn(item, (parsed) => [parsed]) };
  }
  if (has(/\.ckpt$/)) return { framework: "lightning", metrics: {} };
  if (has(/\.safetensors$/)) return { framework: "safetensors", metrics: {} };
  return { framework: null, metrics: {} };
}

/** Counters and clocks of the training loop, which say nothing about the model. */
const NO_METRIC = /^(step|epoch|global_step|total_flos|(train|eval)_(runtime|.+_per_second)|num_.*|.*_time)$/;

/** Returns the newest value of every metric in the log: loss, learning rate, gradient norm, evaluation results. */
const metricsFrom = (file: LookedFile): Promise<Record<string, number>> =>
  metricsIn(file, (parsed) => trainerState.safeParse(parsed).data?.log_history?.slice(-50) ?? []);

/** Returns the numbers of the rows that `rowsOf` finds in a JSON file; those of later rows count. */
async function metricsIn(
  file: LookedFile,
  rowsOf: (parsed: unknown) => readonly unknown[],
): Promise<Record<string, number>> {
  if (file.identity.sizeBytes > MOST_STATE_BYTES) return {};
  try {
    const metrics: Record<string, number> = {};
    for (const row of rowsOf(parseJson(await readFile(file.path)))) {
      if (typeof row !== "object" || row === null) continue;
      for (const [name, value] of Object.entries(row)) {
        const fits =
          name.length <= 64 && !NO_METRIC.test(name) && (name in metrics || Object.keys(metrics).length < MOST_METRICS);
        if (fits && typeof value === "number" && Number.isFinite(value)) metrics[name] = value;
      }
    }
    return metrics;
  } catch {
    return {};
  }
}
