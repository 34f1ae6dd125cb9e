import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import type { FileFormat, LossCurve, MetadataEntry, TensorFacts } from "#protocol/checkpoint/inspect.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import { malformed, tooMuch, wholeNumber } from "./source.ts";

/** Results that a format's reader collects. They are kept even when the reader stops at a Fault. */
export interface Found {
  format: FileFormat;
  tensors: Omit<TensorFacts, "role">[];
  metadata: MetadataEntry[];
  names: string[];
  curve: LossCurve | null;
  preview: string | null;
  framework: string | null;
  warnings: string[];
}

export const emptyFound = (format: FileFormat): Found => ({
  format,
  tensors: [],
  metadata: [],
  names: [],
  curve: null,
  preview: null,
  framework: null,
  warnings: [],
});

const MOST_VALUE = 1_024;
const MOST_NAME = 1_024;
const MOST_WARNINGS = 50;

/** Adds one fact, with control characters made visible and a limited length. Ignored past the limit. */
export function addMetadata(found: Found, name: string, value: string): void {
  if (found.metadata.length >= INSPECT_LIMITS.metadata) return;
  found.metadata.push({ name: visibleStart(name, 256), value: visibleStart(value, MOST_VALUE) });
}

/** Adds a warning once, up to a limit. `about` is untrusted text. */
export function warn(found: Found, sentence: string, about = ""): void {
  const full = about === "" ? sentence : `${visibleStart(about, 200)}: ${sentence}`;
  if (found.warnings.length < MOST_WARNINGS && !found.warnings.includes(full)) found.warnings.push(full);
}

/** Adds a tensor. @throws Fault TOO_MUCH_INSIDE past the limit of tensors, MALFORMED for an overlong name */
export function addTensor(found: Found, tensor: Omit<TensorFacts, "role" | "crc32"> & { crc32?: string | null }): void {
  if (found.tensors.length >= INSPECT_LIMITS.tensors)
    throw tooMuch(`it has more than ${INSPECT_LIMITS.tensors} tensors`);
  if (tensor.name.length > MOST_NAME) throw malformed(`a tensor has a name of ${tensor.name.length} characters`);
  found.tensors.push({ ...tensor, crc32: tensor.crc32 ?? null });
}

/** Returns the number of elements. @throws Fault MALFORMED for an invalid shape, or a product above 2^53 */
export function elementsOf(shape: readonly number[], name: string): number {
  if (shape.length > INSPECT_LIMITS.dimensions)
    throw malformed(`${visibleStart(name, 100)} has ${shape.length} dimensions`);
  let elements = 1;
  for (const length of shape) {
    wholeNumber(length, `a dimension of ${visibleStart(name, 100)}`);
    elements *= length;
    wholeNumber(elements, `the shape of ${visibleStart(name, 100)}`);
  }
  return elements;
}
