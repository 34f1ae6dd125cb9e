import type { Comparison, TensorFacts } from "#protocol/checkpoint/inspect.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";

/** A byte range of a file with its recorded checksum. The parts, in order, cover the file. */
export interface SummedPart {
  readonly length: number;
  /** Null where no checksum is known. */
  readonly crc32: string | null;
}

export interface ComparedFile {
  readonly path: string;
  readonly tensors: readonly TensorFacts[];
  /** Null where no checksums are recorded. */
  readonly parts: readonly SummedPart[] | null;
}

interface Placed {
  tensor: TensorFacts;
  parts: readonly SummedPart[] | null;
}

const MOST_ROWS = 2_000;
const MOST_WARNINGS = 20;

/**
 * Compares the tensors of two checkpoints or files: by name, then by dtype and shape, then by recorded checksums. No byte
 * of a tensor is read. `differs` is certain, `same` is as certain as a CRC32. A tensor whose checksums cannot decide is
 * unknown.
 */
export function compareTensors(from: readonly ComparedFile[], to: readonly ComparedFile[]): Comparison {
  const warnings: string[] = [];
  const doubled = new Set([...doubledIn(from), ...doubledIn(to)]);
  const [before, after] = [placedBy(from, { doubled, warnings }), placedBy(to, { doubled, warnings })];
  const result: Comparison = {
    added: [],
    removed: [],
    changed: [],
    same: 0,
    differs: [],
    unknown: 0,
    omitted: 0,
    warnings,
  };
  const put = <T>(rows: T[], row: T) => {
    if (rows.length < MOST_ROWS) rows.push(row);
    else result.omitted++;
  };
  for (const [name, { tensor }] of before) if (!after.has(name)) put(result.removed, { ...tensor, name });
  for (const [name, now] of after) {
    const was = before.get(name);
    if (was === undefined) {
      put(result.added, { ...now.tensor, name });
      continue;
    }
    const [a, b] = [was.tensor, now.tensor];
    if (
      a.dtype !== b.dtype ||
      a.shape.length !== b.shape.length ||
      a.shape.some((length, axis) => length !== b.shape[axis])
    ) {
      put(result.changed, { name, from: { dtype: a.dtype, shape: a.shape }, to: { dtype: b.dtype, shape: b.shape } });
      continue;
    }
    const verdict = compareBytes(was, now);
    if (verdict === "same") result.same++;
    else if (verdict === "unknown") result.unknown++;
    else put(result.differs, name);
  }
  return result;
}

/** Returns names that occur in more than one file, as when each rank writes its own piece. */
function doubledIn(files: readonly ComparedFile[]): Set<string> {
  const seen = new Map<string, string>();
  const doubled = new Set<string>();
  for (const { path, tensors } of files) {
    for (const { name } of tensors) {
      const first = seen.get(name);
      if (first !== undefined && first !== path) doubled.add(name);
      seen.set(name, path);
    }
  }
  return doubled;
}

function placedBy(
  files: readonly ComparedFile[],
  about: { doubled: ReadonlySet<string>; warnings: string[] },
): Map<string, Placed> {
  const placed = new Map<string, Placed>();
  for (const { path, tensors, parts } of files) {
    for (const tensor of tensors) {
      const name = about.doubled.has(tensor.name) ? `${path}: ${tensor.name}` : tensor.name;
      if (!placed.has(name)) placed.set(name, { tensor, parts });
      else if (about.warnings.length < MOST_WARNINGS)
        about.warnings.push(`${visibleStart(name, 200)}: it is there twice; the first counts`);
    }
  }
  return placed;
}

function compareBytes(a: Placed, b: Placed): "same" | "differs" | "unknown" {
  if (a.tensor.sizeBytes !== b.tensor.sizeBytes) return "unknown";
  if (a.tensor.sizeBytes === 0) return a.tensor.offset === null && a.tensor.crc32 === null ? "unknown" : "same";
  // Tensors with a checksum of their own, from the file itself, are compared by that alone.
  if (a.tensor.crc32 !== null && b.tensor.crc32 !== null) return a.tensor.crc32 === b.tensor.crc32 ? "same" : "differs";
  const [was, now] = [partsOver(a), partsOver(b)];
  if (was === null || now === null) return "unknown";
  const byStart = new Map(now.map((part) => [part.start, part]));
  let isUnknown = was.length !== now.length;
  for (const part of was) {
    const other = byStart.get(part.start);
    if (other === undefined || other.length !== part.length) isUnknown = true;
    else if (part.crc32 === null || other.crc32 === null) isUnknown = true;
    else if (other.crc32 !== part.crc32) {
      // A part that also covers bytes outside the tensor may differ there.
      if (part.start >= 0 && part.start + part.length <= a.tensor.sizeBytes) return "differs";
      isUnknown = true;
    }
  }
  return isUnknown ? "unknown" : "same";
}

/** Returns the parts that overlap a tensor, with starts relative to its first byte; null when they do not cover it. */
function partsOver({ tensor, parts }: Placed): { start: number; length: number; crc32: string | null }[] | null {
  if (tensor.offset === null || parts === null) return null;
  const end = tensor.offset + tensor.sizeBytes;
  const touched: { start: number; length: number; crc32: string | null }[] = [];
  let at = 0;
  for (const { length, crc32 } of parts) {
    if (at < end && at + length > tensor.offset) touched.push({ start: at - tensor.offset, length, crc32 });
    at += length;
    if (at >= end) return touched;
  }
  return null;
}
