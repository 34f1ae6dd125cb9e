import { expect, it } from "vitest";
import type { TensorTree } from "#protocol/checkpoint/inspect.ts";
import { layerLevel } from "./layer-sizes.ts";

/** A part of a name with what lies below it; `own` tensors of this many elements, four bytes each, end here. */
function part(name: string, own: readonly number[], children: readonly TensorTree[] = []): TensorTree {
  const sum = (key: "tensors" | "parameters" | "sizeBytes") => children.reduce((total, child) => total + child[key], 0);
  const parameters = own.reduce((total, elements) => total + elements, 0);
  return {
    name,
    tensors: own.length + sum("tensors"),
    parameters: parameters + sum("parameters"),
    sizeBytes: 4 * parameters + sum("sizeBytes"),
    children: [...children],
  };
}
const layers = part("layers", [], [part("0", [10]), part("2", [20]), part("10", [5], [part("attn", [30])])]);
const tree = part("", [], [part("model", [], [layers, part("embed", [40])])]);
const names = (path: string[]) => layerLevel(tree, path).rows.map(({ name, sizeBytes }) => [name, sizeBytes]);

it("goes down chains of a single part at once, and orders layers by number", () => {
  expect(layerLevel(tree, []).path).toEqual(["model"]);
  expect(names([])).toEqual([
    ["embed", 160],
    ["layers", 260],
  ]);
  expect(names(["model", "layers"]).map(([name]) => name)).toEqual(["0", "2", "10"]);
});

it("names what lies at a level itself, so that its rows add up", () => {
  expect(names(["model", "layers", "10"])).toEqual([
    ["attn", 120],
    ["one tensor here", 20],
  ]);
});

it("begins at the top where an address names a place that is not there", () => {
  expect(layerLevel(tree, ["nowhere"])).toEqual(layerLevel(tree, []));
});

it("measures bars by the largest of their level", () => {
  expect(layerLevel(tree, []).rows.map(({ share }) => share)).toEqual([160 / 260, 1]);
});
