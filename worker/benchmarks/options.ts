import { tmpdir } from "node:os";
import { ENGINE_NAMES, ENGINES, isEngine, type BenchDirection, type EngineName } from "#protocol/benchmarks/engines.ts";
import { BENCH_PRESETS, isPreset, LEAST_PART_BYTES, PART_TOO_SHORT } from "#protocol/benchmarks/presets.ts";
import type { Config } from "../command-line/config.ts";
import { usage } from "../command-line/command-context.ts";

/** Options of a comparison. */
export interface BenchOptions {
  /** Null: every engine that is found. */
  engines: readonly EngineName[] | null;
  directions: readonly BenchDirection[];
  rounds: number;
  seed: number;
  sizeBytes: number;
  partBytes: number;
  connections: number;
  grant: string | null;
  limits: { timeMs: number; memoryBytes: number };
  scratchParent: string;
}

const MOST_SEED = 2 ** 32;
/** Least size of the payload: fewer bytes measure nothing. */
const LEAST_BYTES = 1_000_000;

/** Reads and checks the options. Faults: BAD_INPUT. */
export function readBenchOptions(config: Config, random: () => number = Math.random): BenchOptions {
  const named = config.text("preset") ?? "guide";
  if (!isPreset(named)) throw usage(`--preset ${named}`, `one of ${Object.keys(BENCH_PRESETS).join(", ")}`);
  const preset = BENCH_PRESETS[named];
  const sizeBytes = config.size("size") ?? preset.sizeBytes;
  if (sizeBytes < LEAST_BYTES) throw usage(`--size ${config.text("size")}`, "less than 1 MB shows nothing of a link");
  const partBytes = config.size("part-size") ?? preset.partBytes;
  if (partBytes < LEAST_PART_BYTES) throw usage(`--part-size ${config.text("part-size")}`, PART_TOO_SHORT);
  const connections = config.count("concurrency");
  const engines = readEngines(config.text("engines") ?? "all");
  const directions = readDirections(config.text("directions") ?? "both");
  const able = (engine: EngineName) => directions.some((way) => ENGINES[engine].directions.some((own) => own === way));
  if (engines !== null && !engines.some(able)) {
    throw usage(`--directions ${config.text("directions")}`, `${engines.join(", ")} cannot do that`);
  }
  return {
    engines,
    directions,
    rounds: config.count("rounds"),
    seed: (config.number("seed") ?? Math.floor(random() * MOST_SEED)) % MOST_SEED,
    sizeBytes,
    partBytes,
    connections: connections === 0 ? preset.connections : connections,
    grant: config.text("access-grant"),
    limits: { timeMs: config.durationMs("time-limit"), memoryBytes: config.size("memory-limit") ?? 0 },
    scratchParent: config.text("scratch") ?? tmpdir(),
  };
}

function readEngines(text: string): EngineName[] | null {
  if (text === "all") return null;
  const names = [...new Set(text.split(",").filter((name) => name !== ""))];
  const [unknown] = names.filter((name) => !isEngine(name));
  if (unknown !== undefined || names.length === 0) {
    throw usage(`--engines ${unknown ?? text}`, `all, or some of ${ENGINE_NAMES.join(", ")}`);
  }
  return names.filter(isEngine);
}

function readDirections(text: string): BenchDirection[] {
  if (text === "both") return ["up", "down"];
  if (text === "up" || text === "down") return [text];
  throw usage(`--directions ${text}`, "up, down or both");
}
