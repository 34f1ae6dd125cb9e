import type { PlacesCompared } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";
import { shapeWords } from "./inspect-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Converts the comparison of two checkpoints into rows of one list. */

export type ChangeKind = "reshaped" | "bytes" | "added" | "removed";
export interface ChangeRow {
  kind: ChangeKind;
  word: string;
  tone: Tone;
  name: string;
  from: string;
  to: string;
}
export type ChangeSubject = "tensors" | "files";

const tensorWords = ({ dtype, shape }: { dtype: string; shape: readonly number[] }): string =>
  `${dtype} ${shapeWords(shape)}`;

export function changeRows(data: PlacesCompared, subject: ChangeSubject): ChangeRow[] {
  if (subject === "files") return fileRows(data);
  return [
    ...data.changed.map(({ name, from, to }): ChangeRow => ({
      kind: "reshaped",
      word: "shape or dtype",
      tone: "risk",
      name,
      from: tensorWords(from),
      to: tensorWords(to),
    })),
    ...data.differs.map((name): ChangeRow => ({
      kind: "bytes",
      word: "other bytes",
      tone: "moving",
      name,
      from: "",
      to: "CRC32 differs",
    })),
    ...data.added.map((tensor): ChangeRow => ({
      kind: "added",
      word: "added",
      tone: "safe",
      name: tensor.name,
      from: "–",
      to: tensorWords(tensor),
    })),
    ...data.removed.map((tensor): ChangeRow => ({
      kind: "removed",
      word: "removed",
      tone: "lost",
      name: tensor.name,
      from: tensorWords(tensor),
      to: "–",
    })),
  ];
}

function fileRows({ files }: PlacesCompared): ChangeRow[] {
  if (files === null) return [];
  return [
    ...files.changed.map(({ path, fromBytes, toBytes, changedParts, parts }): ChangeRow => ({
      kind: "bytes",
      word: "other bytes",
      tone: "moving",
      name: path,
      from: formatBytes(fromBytes),
      to: `${formatBytes(toBytes)}${changedParts === null || parts < 2 ? "" : `, ${formatCount(changedParts)} of ${formatCount(parts)} parts`}`,
    })),
    ...files.added.map(({ path, sizeBytes }): ChangeRow => ({
      kind: "added",
      word: "added",
      tone: "safe",
      name: path,
      from: "–",
      to: formatBytes(sizeBytes),
    })),
    ...files.removed.map(({ path, sizeBytes }): ChangeRow => ({
      kind: "removed",
      word: "removed",
      tone: "lost",
      name: path,
      from: formatBytes(sizeBytes),
      to: "–",
    })),
  ];
}

export function countChanges(rows: readonly ChangeRow[]): Record<ChangeKind | "all", number> {
  const counts = { all: rows.length, reshaped: 0, bytes: 0, added: 0, removed: 0 };
  for (const { kind } of rows) counts[kind]++;
  return counts;
}

/** Returns `280 the same, 3 unknown (no checksum)`: counts of what the list leaves out. */
export function changeSentence(data: PlacesCompared, subject: ChangeSubject): string {
  const { same, unknown } = subject === "files" && data.files !== null ? data.files : data;
  const known = `${formatCount(same)} the same`;
  return unknown === 0 ? known : `${known}, ${formatCount(unknown)} unknown (no checksum)`;
}
