import type { TensorTree } from "#protocol/checkpoint/inspect.ts";

/** Computes one level of a model's sizes by layer: tensors grouped by the next part of their names. */

export interface LayerRow {
  name: string;
  /** Path in the tree; null for tensors directly at this level. */
  path: readonly string[] | null;
  tensors: number;
  parameters: number;
  sizeBytes: number;
  /** Size relative to the largest row of this level, 0 to 1. */
  share: number;
  hasMore: boolean;
}

export interface LayerLevel {
  /** Path of the level. Chains of single children are skipped. */
  path: readonly string[];
  rows: LayerRow[];
}

const byName = new Intl.Collator("en", { numeric: true });

/** Returns the level at `path`, or the top level when there is no such path. */
export function layerLevel(tree: TensorTree, path: readonly string[]): LayerLevel {
  const found = nodeAt(tree, path);
  let [node, at] = found === null ? [tree, [] as readonly string[]] : [found, path];
  for (let only = onlyChild(node); only !== null; only = onlyChild(node)) [node, at] = [only, [...at, only.name]];
  const rows = node.children.map((child) => ({
    name: child.name,
    path: [...at, child.name],
    tensors: child.tensors,
    parameters: child.parameters,
    sizeBytes: child.sizeBytes,
    share: 0,
    hasMore: child.children.length > 0,
  }));
  rows.sort((a, b) => byName.compare(a.name, b.name));
  const rest = restOf(node);
  const all: LayerRow[] = rest === null ? rows : [...rows, rest];
  const largest = Math.max(1, ...all.map(({ sizeBytes }) => sizeBytes));
  return { path: at, rows: all.map((row) => ({ ...row, share: row.sizeBytes / largest })) };
}

function nodeAt(tree: TensorTree, path: readonly string[]): TensorTree | null {
  let node: TensorTree = tree;
  for (const name of path) {
    const next = node.children.find((child) => child.name === name);
    if (next === undefined) return null;
    node = next;
  }
  return node;
}

/** Returns the only child when it holds all tensors and has children; null otherwise. */
function onlyChild({ children, tensors }: TensorTree): TensorTree | null {
  const [first] = children;
  return children.length === 1 && first !== undefined && first.tensors === tensors && first.children.length > 0
    ? first
    : null;
}

/** Returns a row for the tensors whose names end at this level; null without any. */
function restOf(node: TensorTree): LayerRow | null {
  const sum = (key: "tensors" | "parameters" | "sizeBytes") =>
    node[key] - node.children.reduce((total, child) => total + child[key], 0);
  const tensors = sum("tensors");
  if (tensors <= 0) return null;
  return {
    name: tensors === 1 ? "one tensor here" : `${tensors} tensors here`,
    path: null,
    tensors,
    parameters: sum("parameters"),
    sizeBytes: sum("sizeBytes"),
    share: 0,
    hasMore: false,
  };
}
