import { stepText } from "#protocol/checkpoint/step-words.ts";
import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Returns the manifest with these files alone; null or left out: as it is. @throws Fault NOT_FOUND for a name that it does not
 * hold
 */
export function chooseFiles<M extends Pick<StoredManifest, "files" | "run" | "step" | "sizeBytes">>(
  manifest: M,
  wanted: readonly string[] | null | undefined,
): M {
  if (wanted == null) return manifest;
  const names = new Set(wanted);
  const files = manifest.files.filter(({ path }) => names.delete(path));
  const [missing] = names;
  if (missing !== undefined) {
    const detail = `${stepText(manifest.step)} of ${manifest.run} has no such file`;
    throw new Fault("NOT_FOUND", { op: "restore", subject: missing, detail });
  }
  return { ...manifest, files, sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}
