import { expect, it } from "vitest";
import { sumUp } from "#storage/inspect/summarise.ts";
import { layerLevel } from "./layer-sizes.ts";

const tensor = (name: string, elements: number) => ({
  name,
  dtype: "F32",
  shape: [elements],
  sizeBytes: 4 * elements,
  offset: null,
  role: "weights" as const,
  crc32: null,
});
const { tree } = sumUp([
  tensor("model.layers.0.w", 10),
  tensor("model.layers.2.w", 20),
  tensor("model.layers.10.attn.q", 30),
  tensor("model.layers.10.bias", 5),
  tensor("model.embed.w", 40),
]);
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
