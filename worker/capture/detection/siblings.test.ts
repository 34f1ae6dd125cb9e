import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseSiblings, findSiblings } from "./siblings.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-siblings-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(path: string, text: string): Promise<void> {
  const at = join(folder, path);
  await mkdir(dirname(at), { recursive: true });
  await writeFile(at, text);
}
const siblings = (name: string) => findSiblings({ path: join(folder, name), kind: "folder" });

test("the steps that Orbax compares by their metrics are siblings, and nothing else in the folder is", async () => {
  for (const step of [5, 20, 100]) await write(`${step}/metrics/metrics`, JSON.stringify({ distance: step }));
  await write("7/default/manifest.ocdbt", "no metrics");
  await write("30.orbax-checkpoint-tmp/metrics/metrics", "{}");
  await write("notes/metrics/metrics", "{}");
  expect(await siblings("100")).toEqual(["20", "5"]);
  expect(await siblings("7")).toEqual([]);
});

test("a step whose metric is no number, as Python writes it, is a sibling too", async () => {
  await write("5/metrics/metrics", '{"loss": 0.5, "accuracy": Infinity}');
  await write("20/metrics/metrics", '{"loss": NaN}');
  expect(await siblings("20")).toEqual(["5"]);
  expect(await siblings("5")).toEqual(["20"]);
});

test("of more than are kept, the extremes of each metric stay, whichever direction is the better one", () => {
  const steps = Array.from({ length: 100 }, (_, at) => ({
    number: at,
    metrics: { loss: (at * 37) % 100, acc: at % 50 },
  }));
  const chosen = chooseSiblings(steps);
  expect(chosen).toHaveLength(16);
  const has = (wanted: (step: (typeof steps)[number]) => boolean) => chosen.some(wanted);
  expect(has(({ metrics }) => metrics.loss === 0) && has(({ metrics }) => metrics.loss === 99)).toBe(true);
  expect(has(({ metrics }) => metrics.acc === 0) && has(({ metrics }) => metrics.acc === 49)).toBe(true);
  expect(chosen.map(({ number }) => number)).toEqual(chosen.map(({ number }) => number).toSorted((a, b) => b - a));
});
