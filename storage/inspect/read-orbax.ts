import { bytesOf } from "./dtypes.ts";
import { addMetadata, addTensor, elementsOf, type Found, warn } from "./found.ts";
import {
  isArray,
  OCDBT_MANIFEST,
  type OrbaxTree,
  readTree,
  readZarr,
  type ZarrArray,
  zarrPathOf,
} from "./orbax-tree.ts";
import { parseJson } from "./parse-json.ts";
import { readOcdbt } from "./read-ocdbt.ts";
import { type BoundedBeside, type BoundedSource, malformed } from "./source.ts";

/** Most zarr files opened for one tree without an index. */
const MOST_OPENED = 256;
const AT_A_TIME = 8;

/**
 * Reads Orbax's `_METADATA`: the arrays by name, and zarr's description of each from TensorStore's index or from one file
 * per array. `found.names` are the files that belong to it. Without access to the other files only the names are known.
 * Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source.
 */
export async function readOrbax(source: BoundedSource, about: { found: Found; beside: BoundedBeside }): Promise<void> {
  const { found, beside } = about;
  const tree = readTree(parseJson(await source.read(0, source.sizeBytes)));
  if (tree === null) throw malformed("it is JSON, but describes no tree of arrays");
  found.framework = "orbax";
  const manifest = tree.isOcdbt === false ? null : await beside(OCDBT_MANIFEST);
  const isIndexed = tree.isOcdbt ?? manifest !== null;
  const { values, names } = isIndexed
    ? await readIndexed(tree, { found, beside, manifest })
    : await readEach(tree, { found, beside });
  found.names = names.sort();
  let unknown = 0;
  // Many leaves may share a name; its description is parsed once.
  const parsed = new Map<Uint8Array, ZarrArray>();
  const zarrOf = (value: Uint8Array): ZarrArray => {
    const known = parsed.get(value) ?? readZarr(value);
    parsed.set(value, known);
    return known;
  };
  for (const leaf of tree.leaves) {
    if (!isArray(leaf)) {
      addMetadata(found, leaf.name, "(a value that is no tensor)");
      continue;
    }
    const value = values.get(zarrPathOf(tree, leaf.name));
    if (value === undefined) {
      addMetadata(found, leaf.name, "(an array, of which nothing else is known)");
      unknown++;
      continue;
    }
    const { dtype, shape } = zarrOf(value);
    if (dtype === "OPAQUE") warn(found, "a tensor has a dtype that is not known", leaf.name);
    const sizeBytes = bytesOf(dtype, elementsOf(shape, leaf.name)) ?? 0;
    addTensor(found, { name: leaf.name, dtype, shape, sizeBytes, offset: null });
  }
  if (unknown > 0) warn(found, `what zarr says of ${unknown} of its ${tree.leaves.length} arrays was not found`);
}

interface Described {
  /** zarr metadata by path relative to the tree's folder. */
  values: ReadonlyMap<string, Uint8Array>;
  names: string[];
}

async function readIndexed(
  tree: OrbaxTree,
  about: { found: Found; beside: BoundedBeside; manifest: BoundedSource | null },
): Promise<Described> {
  const { found, beside, manifest } = about;
  if (manifest === null) return { values: new Map(), names: [OCDBT_MANIFEST] };
  const wanted = new Set(tree.leaves.map(({ name }) => zarrPathOf(tree, name)));
  const index = await readOcdbt(manifest, { open: beside, wanted: (key) => wanted.has(key) });
  if (index.isPartial) warn(found, "some of the files of its index are missing or too short");
  return { values: index.values, names: [OCDBT_MANIFEST, ...index.files.keys()] };
}

async function readEach(
  tree: OrbaxTree,
  { found, beside }: { found: Found; beside: BoundedBeside },
): Promise<Described> {
  const names = [...new Set(tree.leaves.filter(isArray).map(({ name }) => zarrPathOf(tree, name)))];
  const values = new Map<string, Uint8Array>();
  const queue = names.slice(0, MOST_OPENED).values();
  const lane = async () => {
    for (const name of queue) {
      const file = await beside(name);
      if (file !== null && file.sizeBytes > 0) values.set(name, await file.read(0, file.sizeBytes));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  if (names.length > MOST_OPENED) warn(found, `of its ${names.length} arrays the first ${MOST_OPENED} were looked at`);
  return { values, names };
}
