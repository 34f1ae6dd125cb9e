import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ROOT } from "../gate/run-step.ts";

/**
 * What a browser loads before a page works, counted from what the build says of itself: the scripts of every page and
 * those of the layouts, errors and frames around it. What is loaded on demand does not count.
 */

const MOST_BYTES = 200_000;
const BUILT = join(ROOT, ".next");

const packed = new Map<string, number>();
function packedBytes(script: string): number {
  const known = packed.get(script) ?? gzipSync(readFileSync(join(BUILT, script))).length;
  packed.set(script, known);
  return known;
}

interface Manifest {
  entryJSFiles: Record<string, string[]>;
}

/** The file assigns one object literal, which is JSON, to one name. */
function readManifest(file: string): Manifest {
  const text = readFileSync(file, "utf8");
  const start = text.indexOf("{", text.indexOf("] = "));
  return JSON.parse(text.slice(start).replace(/;\s*$/, "")) as Manifest;
}

const { rootMainFiles } = JSON.parse(readFileSync(join(BUILT, "build-manifest.json"), "utf8")) as {
  rootMainFiles: string[];
};
const END = "/page_client-reference-manifest.js";
const pages = globSync(`server/app/**${END}`, { cwd: BUILT }).map((file) => {
  const own = Object.values(readManifest(join(BUILT, file)).entryJSFiles).flat();
  const scripts = [...new Set([...rootMainFiles, ...own])];
  return {
    page: file.slice("server/app".length, -END.length),
    bytes: scripts.reduce((sum, script) => sum + packedBytes(script), 0),
  };
});

test("the pages that were built are counted, with scripts of their own", () => {
  expect(pages.map(({ page }) => page)).toEqual(expect.arrayContaining(["/(hub)", "/(hub)/nodes/[id]"]));
  const frame = rootMainFiles.reduce((sum, script) => sum + packedBytes(script), 0);
  expect(Math.min(...pages.map(({ bytes }) => bytes))).toBeGreaterThanOrEqual(frame);
  expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeGreaterThan(frame);
});

test("no page loads more than 200 kB of compressed script before it works", () => {
  const heavy = pages.filter(({ bytes }) => bytes > MOST_BYTES);
  expect(heavy.map(({ page, bytes }) => `${page}: ${(bytes / 1000).toFixed(1)} kB`)).toEqual([]);
});
