import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Capture } from "./capture.ts";
import { sweepCaptures } from "./sweep.ts";

test("copies that belong to no capture are removed, the others stay", async () => {
  const captures = await mkdtemp(join(tmpdir(), "tidemark-sweep-"));
  await mkdir(join(captures, "owned/files"), { recursive: true });
  await mkdir(join(captures, "orphan/files"), { recursive: true });
  const owner = { folder: join(captures, "owned") } as Capture;
  await sweepCaptures(captures, { all: () => [owner] });
  expect(await readdir(captures)).toEqual(["owned"]);
  await sweepCaptures(join(captures, "not-there"), { all: () => [] });
  await rm(captures, { recursive: true });
});
