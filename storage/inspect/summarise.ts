import type { DtypeShare, TensorFacts, TensorTree } from "#protocol/checkpoint/inspect.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";

/** Totals over tensors: by dtype, and by name prefix. Pure. */

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
