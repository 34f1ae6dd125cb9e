import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { sequenceOf } from "#protocol/recognition/checkpoint-evidence.ts";
import { parseJson } from "#storage/inspect/parse-json.ts";
import { MOST_SIBLINGS } from "#protocol/checkpoint/place.ts";
import type { Candidate } from "./find.ts";

/**
 * Finds the checkpoints that Orbax' `CheckpointManager` compares with a new one. With `best_fn` it keeps the best steps by the
 * content of `metrics/metrics`. The function is the program's own, so every step that is still there counts. Source:
 * `orbax.checkpoint.CheckpointManager._get_metrics`.
 */

const METRICS = "metrics/metrics";
const MOST_BYTES = 65_536;
const MOST_LOOKED_AT = 1_000;
const metricsFile = z.record(z.string(), z.unknown());

interface Step {
  name: string;
  number: number;
  /** Metric values by name. */
  metrics: Readonly<Record<string, number>>;
}

/** Returns the names of the other steps, newest first; none where the checkpoint has no metrics. No faults. */
export async function findSiblings({ path, kind }: Pick<Candidate, "path" | "kind">): Promise<string[]> {
  if (kind !== "folder" || (await readMetrics(path)) === null) return [];
  const own = basename(path);
  const names = (await readdir(dirname(path)).catch(() => [])).filter(
    (name) => name !== own && sequenceOf(name) === sequenceOf(own),
  );
  const steps: Step[] = [];
  for (const name of names.toSorted((a, b) => numberOf(b) - numberOf(a)).slice(0, MOST_LOOKED_AT)) {
    const metrics = await readMetrics(join(dirname(path), name));
    if (metrics !== null) steps.push({ name, number: numberOf(name), metrics });
  }
  return chooseSiblings(steps).map(({ name }) => name);
}

const numberOf = (name: string): number => Number(/(\d{1,12})\D*$/.exec(name)?.[1] ?? 0);

async function readMetrics(folder: string): Promise<Record<string, number> | null> {
  const file = join(folder, METRICS);
  try {
    const stats = await stat(file);
    if (!stats.isFile() || stats.size > MOST_BYTES) return null;
    const found = metricsFile.safeParse(parseJson(await readFile(file)));
    if (!found.success) return null;
    return Object.fromEntries(
      Object.entries(found.data).flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
    );
  } catch {
    return null;
  }
}

/**
 * Chooses when there are too many: the lowest and the highest of each metric in turn, since either may be the best, and the
 * newest.
 */
export function chooseSiblings<S extends Pick<Step, "number" | "metrics">>(steps: readonly S[]): S[] {
  const newestFirst = steps.toSorted((a, b) => b.number - a.number);
  if (steps.length <= MOST_SIBLINGS) return newestFirst;
  const names = [...new Set(steps.flatMap(({ metrics }) => Object.keys(metrics)))];
  const orders = names.flatMap((name) => {
    const rising = steps.toSorted((a, b) => (a.metrics[name] ?? 0) - (b.metrics[name] ?? 0));
    return [rising, rising.toReversed()];
  });
  const chosen = new Set<S>();
  for (let rank = 0; rank < steps.length; rank++) {
    for (const order of [...orders, newestFirst]) {
      const step = order[rank];
      if (step !== undefined && chosen.size < MOST_SIBLINGS) chosen.add(step);
    }
  }
  return newestFirst.filter((step) => chosen.has(step));
}
