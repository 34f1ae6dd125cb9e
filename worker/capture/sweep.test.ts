import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Capture } from "./capture.ts";
import { sweepCaptures } from "./sweep.ts";

test("copies that belong to no capture are removed; the others stay, and what no worker made", async () => {
  const captures = join(await mkdtemp(join(tmpdir(), "tidemark-sweep-")), "captures");
  const [owned, orphan] = ["0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"];
  for (const name of [owned, orphan, "mine"]) await mkdir(join(captures, name, "files"), { recursive: true });
  const owner = { folder: join(captures, owned) } as Capture;
  await sweepCaptures(captures, { all: () => [owner] });
  expect((await readdir(captures)).toSorted()).toEqual([owned, "mine"]);
  await sweepCaptures(join(captures, "not-there"), { all: () => [] });
  await rm(captures, { recursive: true });
});
