import { sentenceOf } from "#protocol/faults/fault.ts";
import type { FileInspection, LossCurve } from "#protocol/checkpoint/inspect.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import type { CommandContext } from "../../command-line/command-context.ts";

/** Writes what is inside one file, for people or with `--json`. Returns the exit code: that of the fault of a damaged file. */
export async function writeInspection(context: CommandContext, found: FileInspection): Promise<number> {
  const lines = context.config.isOn("json") ? jsonLines(found) : tableOf(found);
  await context.output(Buffer.from(`${lines.join("\n")}\n`));
  return found.fault === null ? 0 : FAULTS[found.fault.code].exit;
}

function jsonLines(found: FileInspection): string[] {
  const { tensors, tensorsOmitted: _omitted, path, ...rest } = found;
  const rows = tensors.map((tensor) => JSON.stringify({ type: "tensor", ...tensor }));
  return [...rows, JSON.stringify({ type: "inspected", name: path, tensors: tensors.length, ...rest })];
}

const NAME_WIDTH = 60;

export const tensorCount = (count: number): string => `${formatCount(count)} ${count === 1 ? "tensor" : "tensors"}`;

function tableOf(found: FileInspection): string[] {
  const { format, sizeBytes, readBytes, tensors, parameters, weights, dtypes, metadata, curve, warnings, fault } =
    found;
  const framework = found.framework === null ? "" : `, ${found.framework}`;
  const lines = [
    `${visibleStart(found.path, 1_024)}: ${format}${framework}, ${formatBytes(sizeBytes)} (${formatBytes(readBytes)} of it read)`,
  ];
  if (tensors.length > 0) {
    lines.push(...sumLines({ parameters, weights, dtypes, tensors: tensors.length }), "");
    for (const { name, dtype, shape, sizeBytes: bytes } of tensors) {
      const shown = visibleStart(name === "" ? "(the array)" : name, 1_024).padEnd(NAME_WIDTH);
      lines.push(`${shown}  ${dtype.padEnd(10)} ${formatBytes(bytes).padStart(9)}  [${shape.join(", ")}]`);
    }
  }
  if (metadata.length > 0) lines.push("", ...metadata.map(({ name, value }) => `${name}: ${value}`));
  if (curve !== null) lines.push("", ...curveLines(curve));
  if (found.names.length > 0) lines.push("", "Belonging to it:", ...found.names.map((name) => `  ${name}`));
  if (found.preview !== null && metadata.length === 0 && curve === null) lines.push("", found.preview);
  if (warnings.length > 0) lines.push("", ...warnings.map((sentence) => `Note: ${sentence}.`));
  if (fault !== null) lines.push("", sentenceOf(fault));
  return lines;
}

const numberText = (value: number | null): string =>
  (value === null ? "-" : String(Number(value.toPrecision(6)))).padStart(10);

/** Returns the totals of tensors for people: count, parameters, and bytes by dtype. */
export function sumLines({
  parameters,
  weights,
  dtypes,
  tensors,
}: Pick<FileInspection, "parameters" | "weights" | "dtypes"> & { tensors: number }): string[] {
  const state =
    parameters > weights ? `, ${formatCount(parameters - weights)} elements of optimizer and other state` : "";
  const shares = dtypes.map(
    (share) => `  ${share.dtype.padEnd(10)} ${formatBytes(share.sizeBytes).padStart(9)}  ${tensorCount(share.tensors)}`,
  );
  return [`${tensorCount(tensors)}, ${formatCount(weights)} parameters${state}`, ...shares];
}

/** Returns a loss curve as a table. */
export function curveLines({ points }: LossCurve): string[] {
  const rows = points.map(
    ({ step, loss, evalLoss, learningRate }) =>
      `${String(step).padStart(7)}  ${numberText(loss)}  ${numberText(evalLoss)}  ${numberText(learningRate)}`,
  );
  return ["   step        loss   eval loss  learning rate", ...rows];
}
