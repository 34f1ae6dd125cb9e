import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import type { CurvePoint, LossCurve } from "#protocol/checkpoint/inspect.ts";
import { addMetadata, type Found, warn } from "./found.ts";
import { isRecord, parseJson } from "./parse-json.ts";
import { type BoundedSource, malformed } from "./source.ts";

const MOST_NAMES = 10_000;

/** Reads any JSON and detects its kind by content. Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export async function readJson(source: BoundedSource, found: Found): Promise<void> {
  const parsed = parseJson(await source.read(0, source.sizeBytes));
  if (!isRecord(parsed)) return;
  if (isRecord(parsed["weight_map"])) readIndex(parsed, { map: parsed["weight_map"], found });
  else if (Array.isArray(parsed["log_history"])) readTrainerState(parsed, { log: parsed["log_history"], found });
  else {
    if (typeof parsed["model_type"] === "string" || Array.isArray(parsed["architectures"])) {
      found.format = "config";
      found.framework = "transformers";
    }
    addScalars(parsed, found);
  }
}

function addScalars(record: Record<string, unknown>, found: Found): void {
  for (const [name, value] of Object.entries(record)) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      addMetadata(found, name, String(value));
    else if (
      Array.isArray(value) &&
      value.length <= 16 &&
      value.every((one) => typeof one === "string" || typeof one === "number")
    ) {
      addMetadata(found, name, value.join(", "));
    }
  }
}

/** Reads `model.safetensors.index.json`, which maps tensors to files. */
function readIndex(record: Record<string, unknown>, about: { map: Record<string, unknown>; found: Found }): void {
  const { map, found } = about;
  found.format = "safetensors-index";
  const files = new Set<string>();
  let tensors = 0;
  for (const file of Object.values(map)) {
    if (typeof file !== "string" || file.length > 1_024)
      throw malformed("it does not say of every tensor in which file it lies");
    tensors++;
    if (files.size < MOST_NAMES) files.add(file);
  }
  found.names = [...files].sort();
  addMetadata(found, "tensors", String(tensors));
  if (isRecord(record["metadata"])) addScalars(record["metadata"], found);
}

function readTrainerState(record: Record<string, unknown>, about: { log: readonly unknown[]; found: Found }): void {
  const { found } = about;
  found.format = "trainer-state";
  found.framework = "transformers";
  const { log_history: _, ...rest } = record;
  addScalars(rest, found);
  found.curve = curveOf(record, { log: about.log, found });
}

const numberOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** Reads the log of transformers' Trainer: one row per step, from training or evaluation. */
function curveOf(record: Record<string, unknown>, about: { log: readonly unknown[]; found: Found }): LossCurve {
  const byStep = new Map<number, CurvePoint>();
  let lost = 0;
  for (const row of about.log) {
    if (!isRecord(row)) continue;
    const step = numberOf(row["step"]);
    if (step === null) continue;
    const known = byStep.get(step);
    const point = known ?? { step, epoch: null, loss: null, evalLoss: null, learningRate: null, gradNorm: null };
    // NaN and Infinity were parsed as null: the row has a loss, but no number.
    if ("loss" in row && numberOf(row["loss"]) === null) lost++;
    point.epoch = numberOf(row["epoch"]) ?? point.epoch;
    point.loss = numberOf(row["loss"]) ?? point.loss;
    point.evalLoss = numberOf(row["eval_loss"]) ?? point.evalLoss;
    point.learningRate = numberOf(row["learning_rate"]) ?? point.learningRate;
    point.gradNorm = numberOf(row["grad_norm"]) ?? point.gradNorm;
    const isOne = ["loss", "eval_loss", "learning_rate", "grad_norm"].some((name) => name in row);
    if (known === undefined && isOne) byStep.set(step, point);
  }
  if (lost > 0) warn(about.found, `the loss is no number in ${lost} ${lost === 1 ? "row" : "rows"} of the log`);
  const all = [...byStep.values()].sort((a, b) => a.step - b.step);
  const points = thinOut(all, INSPECT_LIMITS.points);
  return {
    globalStep: numberOf(record["global_step"]),
    maxSteps: numberOf(record["max_steps"]),
    epoch: numberOf(record["epoch"]),
    bestMetric: numberOf(record["best_metric"]),
    points,
    pointsOmitted: all.length - points.length,
  };
}

/** Returns at most `most` points, evenly spaced, including the first and the last. */
function thinOut<T>(points: readonly T[], most: number): T[] {
  if (points.length <= most) return [...points];
  const last = points.length - 1;
  return Array.from({ length: most }, (_, index) => points[Math.round((index * last) / (most - 1))]).filter(
    (one) => one !== undefined,
  );
}
