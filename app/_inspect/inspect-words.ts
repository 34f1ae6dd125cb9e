import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import type { FileFormat, FileInspection, TensorFacts } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Wording of file inspections. */

/** Formats a number of parameters with three figures: `1.24 B`, `135 M`, `812`. */
export function parameterWords(count: number): string {
  const units = ["", " k", " M", " B", " T"];
  let [value, unit] = [count, 0];
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  if (unit === 0) return String(count);
  return `${value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2)}${units[unit]}`;
}

/** Formats a shape: `4096 × 11008`, or `scalar`. */
export const shapeWords = (shape: readonly number[]): string => (shape.length === 0 ? "scalar" : shape.join(" × "));

const FORMATS: Record<FileFormat, string> = {
  safetensors: "safetensors",
  "safetensors-index": "index of shards",
  gguf: "GGUF",
  "torch-zip": "PyTorch",
  "torch-legacy": "PyTorch before 1.6",
  "torch-tar": "PyTorch before 0.1.10",
  "torch-dcp": "PyTorch DCP metadata",
  "torch-dcp-data": "PyTorch DCP pieces",
  orbax: "Orbax metadata",
  ocdbt: "index of arrays",
  pickle: "pickle",
  npy: "numpy array",
  npz: "numpy arrays",
  zip: "zip archive",
  "trainer-state": "log of a Trainer",
  config: "configuration",
  json: "JSON",
  text: "text",
  binary: "binary",
  empty: "empty",
};
export const formatWords = (format: FileFormat): string => FORMATS[format];

const PICKLED: ReadonlySet<FileFormat> = new Set(["torch-zip", "torch-legacy", "torch-dcp", "pickle"]);

/** Says how much of a file was read, and that nothing in it was executed. */
export function readWords({ format, sizeBytes, readBytes, reads }: FileInspection): string {
  const read =
    format === "orbax"
      ? `${formatBytes(readBytes)} of it and of the files beside it were read`
      : readBytes >= sizeBytes
        ? `All ${formatBytes(sizeBytes)} were read`
        : `${formatBytes(readBytes)} of ${formatBytes(sizeBytes)} were read in ${formatCount(reads)} ${reads === 1 ? "request" : "requests"}`;
  const never = PICKLED.has(format) ? " Its pickle is never loaded: its opcodes are only interpreted as data." : "";
  const most = formatBytes(INSPECT_LIMITS.readBytes);
  return `${read}. The hub reads at most ${most} of an object, for what describes it: tensors are not loaded.${never}`;
}

export const TENSOR_ORDERS = ["file", "name", "size"] as const;
export type TensorOrder = (typeof TENSOR_ORDERS)[number];
export const orderOf = (word: string): TensorOrder => TENSOR_ORDERS.find((one) => one === word) ?? "file";

const byName = new Intl.Collator("en", { numeric: true });

/** Returns the tensors whose name, dtype and shape contain all words, in the given order. */
export function pickTensors(
  tensors: readonly TensorFacts[],
  { words, order }: { words: string; order: TensorOrder },
): TensorFacts[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = tensors.filter(({ name, dtype, shape }) => {
    const text = `${visibleText(name)} ${dtype} ${shape.join("x")}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  switch (order) {
    case "file":
      return fits;
    case "name":
      return fits.sort((a, b) => byName.compare(a.name, b.name));
    case "size":
      return fits.sort((a, b) => b.sizeBytes - a.sizeBytes || byName.compare(a.name, b.name));
  }
}
