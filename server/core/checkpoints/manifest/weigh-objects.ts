/** The part of a manifest file that is counted, Tidemark's own or external. */
interface Placed {
  extents: readonly { key: string; length: number; stored?: { length: number } | undefined }[];
}

/**
 * Returns the objects and bytes of a checkpoint in its bucket: the objects that its manifest names, and the manifest itself.
 * Packed files share an object; a compressed file counts with its stored size.
 */
export function weighObjects(files: readonly Placed[], text: string): { objectCount: number; objectBytes: bigint } {
  const keys = new Set<string>();
  let bytes = Buffer.byteLength(text);
  for (const { extents } of files) {
    for (const { key, length, stored } of extents) {
      keys.add(key);
      bytes += stored?.length ?? length;
    }
  }
  return { objectCount: keys.size + 1, objectBytes: BigInt(bytes) };
}
