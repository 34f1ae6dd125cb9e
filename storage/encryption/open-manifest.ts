import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { findCollision } from "#protocol/base/names.ts";
import { HIDDEN_FOLDER, type SealedTransform } from "#protocol/checkpoint/sealing.ts";
import { hiddenPathOf, openInside } from "./checkpoint-key.ts";

/**
 * Opens the manifest of a sealed checkpoint with its key. Files get their real names, and extents the checksums of the
 * plain bytes instead of the stored ones. Accepts manifests as committed, and manifests whose names the hub has restored.
 */

/** Returns the outer data that the sealed part is bound to: the checkpoint, and each file's path, size and number of extents. */
export const boundOf = ({ id, run, step, files }: Pick<Manifest, "id" | "run" | "step" | "files">): string =>
  JSON.stringify([id, run, step, files.map(({ path, sizeBytes, extents }) => [path, sizeBytes, extents.length])]);

const isHidden = (path: string): boolean => path.startsWith(`${HIDDEN_FOLDER}/`);

export interface SealedManifest extends Manifest {
  transform: SealedTransform;
}

export const isSealed = (read: { transform: { kind: string } }): read is SealedManifest =>
  read.transform.kind === "sealed";

/** Returns the opened manifest. @throws Fault SEAL_BROKEN */
export function openManifest(read: SealedManifest, key: Uint8Array): SealedManifest {
  const { transform, files } = read;
  const asCommitted = files.map((file) =>
    transform.hideNames && !isHidden(file.path) ? { ...file, path: hiddenPathOf(key, file.path) } : file,
  );
  const { paths, sums, place, attributes } = openInside(
    key,
    transform.inside,
    boundOf({ ...read, files: asCommitted }),
  );
  const broken = (detail: string) => new Fault("SEAL_BROKEN", { op: "open the manifest", subject: read.id, detail });
  if (sums.length !== files.length || (paths !== null) !== transform.hideNames) throw broken("its parts do not fit");
  if (paths !== null && (paths.length !== files.length || findCollision(paths) !== null)) {
    throw broken("its names do not fit");
  }
  return {
    ...read,
    ...(place !== undefined && { place }),
    ...(attributes !== undefined && { attributes }),
    files: files.map((file, index) => {
      const own = sums[index] ?? [];
      if (own.length !== file.extents.length) throw broken("its checksums do not fit");
      const path = paths?.[index] ?? file.path;
      return { ...file, path, extents: file.extents.map((one, at) => ({ ...one, crc32: own[at] ?? one.crc32 })) };
    }),
  };
}
