import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lookAt } from "./look.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-look-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a file that NFS keeps for a process that has it open is nobody's", async () => {
  const path = join(folder, "checkpoint-10");
  await mkdir(path);
  await writeFile(join(path, "model.pt"), "weights");
  const before = await lookAt({ path, kind: "folder" });
  await writeFile(join(path, ".nfs00000000014a2b3c00000d5e"), "deleted and still open");
  await writeFile(join(path, ".nfs-settings"), "of the program");
  const look = await lookAt({ path, kind: "folder" });
  expect(look?.files.map(({ relative }) => relative)).toEqual([".nfs-settings", "model.pt"]);
  await rm(join(path, ".nfs-settings"));
  expect((await lookAt({ path, kind: "folder" }))?.fingerprint).toBe(before?.fingerprint);
  // Of a checkpoint that its rotation removed nothing else is left.
  await rm(join(path, "model.pt"));
  expect((await lookAt({ path, kind: "folder" }))?.files).toEqual([]);
});
