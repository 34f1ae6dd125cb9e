import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { archivedFault, type Unreadable } from "#storage/answers/archived-fault.ts";
import { archivedFiles } from "#storage/manifest/archived-files.ts";
import { tensorFiles } from "#storage/tensors/tensor-files.ts";

/**
 * Asserts that no file has bytes in an archived object. `archived`: keys of objects.
 * @throws Fault OBJECT_ARCHIVED or OBJECT_BEING_RESTORED with the files by name
 */
export function assertReadable(manifest: Pick<StoredManifest, "files">, archived: readonly Unreadable[]): void {
  const found = archivedFiles(manifest, { archived, files: null });
  if (found.length > 0) throw archivedFault("restore", found);
}

/** Returns the files that a restore of tensors reads, at least their headers. `only`: paths; null for all. @throws Fault BAD_INPUT */
export function wantedOfTensors(whole: StoredManifest, only: readonly string[] | null): Pick<StoredManifest, "files"> {
  const { shards, indexes } = tensorFiles(whole, only);
  return { files: [...shards, ...indexes] };
}
