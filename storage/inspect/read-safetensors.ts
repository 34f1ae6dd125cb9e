import { visibleStart } from "#protocol/base/visible-text.ts";
import { addMetadata, addTensor, type Found, warn } from "./found.ts";
import { checkSpans, readHeader, tensorOf } from "./safetensors-header.ts";
import type { BoundedSource } from "./source.ts";

/**
 * Reads names, dtypes, shapes and offsets of all tensors. Overlaps, missing bytes, and sizes that contradict dtype and
 * shape are MALFORMED. Gaps and trailing bytes, which the format forbids too, are warnings. Rejects with Fault MALFORMED
 * or TOO_MUCH_INSIDE, or Faults of the source.
 */
export async function readSafetensors(source: BoundedSource, found: Found): Promise<void> {
  const { entries, metadata, dataAt } = await readHeader(source);
  if (metadata !== undefined) readMetadata(metadata, found);
  const spans = entries.map(([name, entry]) => {
    const { dtype, shape, begin, end, expectedBytes } = tensorOf(name, entry);
    if (expectedBytes === null) warn(found, `the dtype ${visibleStart(dtype, 32)} is not known`, name);
    const known = expectedBytes === null ? "OPAQUE" : dtype;
    addTensor(found, { name, dtype: known, shape, sizeBytes: end - begin, offset: dataAt + begin });
    return { begin, end };
  });
  const { between, behind } = checkSpans(spans, source.sizeBytes - dataAt);
  if (between > 0) warn(found, "there are bytes between its tensors that belong to none");
  if (behind > 0) warn(found, `${behind} bytes behind its last tensor belong to none`);
}

function readMetadata(metadata: Record<string, unknown>, found: Found): void {
  for (const [name, value] of Object.entries(metadata)) {
    if (typeof value === "string") addMetadata(found, name, value);
    else warn(found, "a value of the metadata is no text", name);
  }
  if (metadata["format"] === "mlx") found.framework = "mlx";
}
