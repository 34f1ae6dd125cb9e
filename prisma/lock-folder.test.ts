import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { lockFolder } from "./lock-folder.ts";

const dir = mkdtempSync(join(tmpdir(), "tidemark-lock-folder-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("a folder is locked once, and again after it was released", async () => {
  const file = join(dir, "hub.lock");
  const unlock = await lockFolder(file, 0);
  expect(unlock).not.toBeNull();
  expect(await lockFolder(file, 0)).toBeNull();
  await unlock?.();
  const again = await lockFolder(file, 0);
  expect(again).not.toBeNull();
  await again?.();
});

test("a file that cannot be opened is not taken for a lock of another process", async () => {
  const folder = join(dir, "folder.lock");
  mkdirSync(folder);
  await expect(lockFolder(folder, 0)).rejects.toThrow(/unable to open/i);
});
