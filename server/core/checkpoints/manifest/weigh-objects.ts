/** As much of a manifest as is counted: ours, or that of an adopted checkpoint. */
interface Placed {
  extents: readonly { key: string; length: number; stored?: { length: number } | undefined }[];
}

/**
 * What a checkpoint takes up in its bucket: the objects that its manifest names and the manifest itself. Packed files
 * share an object, and a compressed one counts with what lies there.
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
