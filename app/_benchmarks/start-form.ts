import { BENCH_PRESETS, isPreset, LEAST_PART_BYTES } from "#protocol/benchmarks/presets.ts";
import { USUAL_SETTINGS, type BenchSettings } from "#protocol/benchmarks/plan-input.ts";
import type { EngineName } from "#protocol/benchmarks/engines.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { EVERYWHERE, type Scope } from "#protocol/base/scope.ts";
import { parseSize } from "#protocol/wire/read-units.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Typed values of a new benchmark. This module converts them into its settings. */
export interface StartForm {
  name: string;
  nodes: string;
  label: string;
  sample: string;
  profileIds: readonly string[];
  /** Null selects all engines that can run. */
  engines: readonly EngineName[] | null;
  directions: "both" | "up" | "down";
  size: string;
  part: string;
  connections: string;
  rounds: string;
  perBucket: string;
}

export const FIRST_FORM: StartForm = {
  name: "",
  nodes: "",
  label: "",
  sample: "",
  profileIds: [],
  engines: null,
  directions: "both",
  size: "300MB",
  part: "10MB",
  connections: "10",
  rounds: "1",
  perBucket: "5",
};

/** Returns size, part size and connections of a preset as form values; null for an unknown preset. */
export function presetFields(name: string): Pick<StartForm, "size" | "part" | "connections"> | null {
  if (!isPreset(name)) return null;
  const { sizeBytes, partBytes, connections } = BENCH_PRESETS[name];
  return { size: sizeWords(sizeBytes), part: sizeWords(partBytes), connections: String(connections) };
}

const MB = 1_000_000;
const MIB = 1024 * 1024;
const sizeWords = (bytes: number): string => (bytes % MB === 0 ? `${bytes / MB}MB` : `${bytes / MIB}MiB`);

export interface ReadForm {
  targets: { scope: Scope; sample: number | null; profileIds: string[] };
  settings: BenchSettings;
  perBucket: number;
}

export type FormProblem = Partial<Record<keyof StartForm, string>>;

const whole = (text: string, most: number): number | null =>
  /^\d{1,6}$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= most ? Number(text) : null;

function sizeOf(text: string, least: number, most: number): number | string {
  try {
    const bytes = parseSize(text);
    return bytes < least || bytes > most ? `From ${formatBytes(least)} to ${formatBytes(most)}.` : bytes;
  } catch (error) {
    return error instanceof Fault ? (error.context.detail ?? "It is no size.") : "It is no size.";
  }
}

/** Returns the parsed form, or an error for each invalid field. `canRun` are the engines to use when none was chosen. */
export function readForm(
  form: StartForm,
  canRun: readonly EngineName[],
): { read: ReadForm } | { problems: FormProblem } {
  const problems: FormProblem = {};
  const sizeBytes = sizeOf(form.size, MB, 20_000 * MB);
  const partBytes = sizeOf(form.part, LEAST_PART_BYTES, 5_000 * MB);
  if (typeof sizeBytes === "string") problems.size = sizeBytes;
  if (typeof partBytes === "string") problems.part = partBytes;
  const connections = whole(form.connections, 256);
  const rounds = whole(form.rounds, 20);
  const perBucket = whole(form.perBucket, 500);
  const sample = form.sample.trim() === "" ? null : whole(form.sample, 5_000);
  if (connections === null) problems.connections = "A whole number from 1 to 256.";
  if (rounds === null) problems.rounds = "A whole number from 1 to 20.";
  if (perBucket === null) problems.perBucket = "A whole number from 1 to 500.";
  if (form.sample.trim() !== "" && sample === null) problems.sample = "A whole number, or nothing for all of them.";
  if (!/^[A-Za-z0-9._*?-]{0,128}$/.test(form.nodes.trim())) problems.nodes = "A pattern such as gpu-*, or nothing.";
  const [, key = "", value = ""] = /^([^=]{1,32})=(.{0,128})$/.exec(form.label.trim()) ?? [];
  if (form.label.trim() !== "" && key === "") problems.label = "A label such as region=us-east, or nothing.";
  if (form.profileIds.length === 0) problems.profileIds = "Choose a bucket.";
  const engines = form.engines ?? canRun;
  if (engines.length === 0) problems.engines = "Choose an engine.";
  if (typeof sizeBytes === "string" || typeof partBytes === "string") return { problems };
  if (connections === null || rounds === null || perBucket === null || Object.keys(problems).length > 0) {
    return { problems };
  }
  const scope = { ...EVERYWHERE, nodes: form.nodes.trim() || null, labels: key === "" ? {} : { [key]: value } };
  const directions: BenchSettings["directions"] = form.directions === "both" ? ["up", "down"] : [form.directions];
  const { timeLimitMs, memoryBytes } = USUAL_SETTINGS;
  const settings = { sizeBytes, partBytes, connections, rounds, directions, timeLimitMs, memoryBytes };
  return {
    read: {
      targets: { scope, sample, profileIds: [...form.profileIds] },
      settings: { ...settings, engines: [...engines] },
      perBucket,
    },
  };
}
