import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type {
  CheckpointInspection,
  DtypeShare,
  FileFormat,
  FileSummary,
  TensorFacts,
  TensorTree,
} from "#protocol/checkpoint/inspect.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import type { InspectedFile } from "./compare-checkpoints.ts";

/** Totals over tensors, by dtype and by name prefix, and over the files of a checkpoint. Pure. */

const MOST_CHILDREN = 256;
const MOST_DEPTH = 4;
const MOST_NODES = 4_000;
const MOST_DTYPES = 64;
const REST = "…";

export const elementsIn = ({ shape }: Pick<TensorFacts, "shape">): number =>
  shape.reduce((product, length) => product * length, 1);

export interface Sums {
  parameters: number;
  weights: number;
  tensorBytes: number;
  dtypes: DtypeShare[];
  tree: TensorTree;
}

export function sumUp(tensors: readonly TensorFacts[]): Sums {
  const dtypes = new Map<string, DtypeShare>();
  const tree = createNode("");
  let nodes = 1;
  let [parameters, weights, tensorBytes] = [0, 0, 0];
  for (const tensor of tensors) {
    const elements = elementsIn(tensor);
    parameters += elements;
    if (tensor.role === "weights") weights += elements;
    tensorBytes += tensor.sizeBytes;
    const dtype = dtypes.has(tensor.dtype) || dtypes.size < MOST_DTYPES ? tensor.dtype : REST;
    const share = dtypes.get(dtype) ?? { dtype, tensors: 0, parameters: 0, sizeBytes: 0 };
    dtypes.set(dtype, share);
    for (const sum of [share, tree]) count(sum, { elements, sizeBytes: tensor.sizeBytes });
    let node = tree;
    for (const part of partsOf(tensor.name)) {
      const known = node.below.get(part);
      const isFull = known === undefined && (node.below.size >= MOST_CHILDREN || nodes >= MOST_NODES);
      const name = isFull ? REST : part;
      const child = node.below.get(name) ?? createNode(name);
      if (!node.below.has(name)) {
        node.below.set(name, child);
        nodes++;
      }
      count(child, { elements, sizeBytes: tensor.sizeBytes });
      node = child;
      if (isFull) break;
    }
  }
  return {
    parameters,
    weights,
    tensorBytes,
    dtypes: [...dtypes.values()].sort((a, b) => b.sizeBytes - a.sizeBytes || (a.dtype < b.dtype ? -1 : 1)),
    tree: plain(tree),
  };
}

interface Node extends Omit<TensorTree, "children"> {
  below: Map<string, Node>;
}

const createNode = (name: string): Node => ({ name, tensors: 0, parameters: 0, sizeBytes: 0, below: new Map() });

function count(sum: DtypeShare | Node, tensor: { elements: number; sizeBytes: number }): void {
  sum.tensors++;
  sum.parameters += tensor.elements;
  sum.sizeBytes += tensor.sizeBytes;
}

/** Returns the first parts of a name, without the last, which is the tensor itself and has a row of its own. */
const partsOf = (name: string): string[] =>
  name
    .split(/[./]/, MOST_DEPTH + 1)
    .slice(0, -1)
    .slice(0, MOST_DEPTH)
    .map((part) => visibleStart(part, 64));

const plain = ({ below, ...node }: Node): TensorTree => ({ ...node, children: [...below.values()].map(plain) });

const MOST_TENSORS = 200_000;
const MOST_WARNINGS = 50;

/** Summarizes the inspected files of a checkpoint: its tensors together, and each file without them. */
export function summariseCheckpoint(
  { checkpointId, manifest }: { checkpointId: string; manifest: StoredManifest },
  { files, omitted }: { files: readonly InspectedFile[]; omitted: number },
): CheckpointInspection {
  const paths = new Set<string>(manifest.files.map(({ path }) => path));
  const tensors = files.flatMap(({ found }) => found?.tensors ?? []);
  const warnings = files.flatMap((one) => missingNames(one, paths));
  if (tensors.length > MOST_TENSORS)
    warnings.push(`the sums are of the first ${MOST_TENSORS} of its ${tensors.length} tensors`);
  const frameworks = files.map(({ found }) => found?.framework ?? null).filter((name) => name !== null);
  return {
    checkpointId,
    framework: manifest.framework ?? frameworks[0] ?? null,
    ...sumUp(tensors.slice(0, MOST_TENSORS)),
    curve: files.find(({ found }) => found?.curve !== null && found !== null)?.found?.curve ?? null,
    files: files.map(summaryOf),
    filesOmitted: omitted,
    warnings: warnings.slice(0, MOST_WARNINGS),
  };
}

const NAMING: ReadonlySet<FileFormat> = new Set(["safetensors-index", "torch-dcp", "orbax"]);

/** Returns a warning for each file that an index or a `.metadata` names and that the checkpoint lacks. */
function missingNames({ file, found }: InspectedFile, paths: ReadonlySet<string>): string[] {
  if (found === null || !NAMING.has(found.format)) return [];
  const folder = file.path.slice(0, file.path.lastIndexOf("/") + 1);
  return found.names
    .filter((name) => !paths.has(folder + name))
    .map((name) => `${visibleStart(file.path, 200)} names ${visibleStart(name, 200)}, which is not in the checkpoint`);
}

function summaryOf({ file, found, fault }: InspectedFile): FileSummary {
  if (found === null) {
    return {
      path: file.path,
      format: "binary",
      sizeBytes: file.sizeBytes,
      readBytes: 0,
      reads: 0,
      parameters: 0,
      weights: 0,
      tensorBytes: 0,
      tensors: 0,
      dtypes: [],
      metadata: [],
      names: [],
      curve: null,
      framework: null,
      warnings: [],
      fault: fault?.toData() ?? null,
    };
  }
  const { tensors, tree: _tree, preview: _preview, tensorsOmitted: _omitted, ...rest } = found;
  return {
    ...rest,
    tensors: tensors.length,
    names: found.names.slice(0, 100),
    metadata: found.metadata.slice(0, 50),
    curve: null,
  };
}
