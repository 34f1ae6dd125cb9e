import { chmod, mkdtemp, mkdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockWatched } from "./lock-watched.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "tidemark-watched-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("a folder is watched by one `tidemark run` of a machine, whatever it is called", async () => {
  const folder = join(dir, "checkpoints");
  await mkdir(folder);
  await symlink(folder, join(dir, "also"));
  const release = await lockWatched([folder], dir);
  await expect(lockWatched([join(dir, "also")], dir)).rejects.toMatchObject({ code: "FOLDER_IN_USE" });
  const other = await lockWatched([join(dir, "other")], dir);
  await release();
  await (
    await lockWatched([join(dir, "also")], dir)
  )();
  await other();
});

test("a refusal leaves no lock of the folders before it", async () => {
  const release = await lockWatched([join(dir, "b")], dir);
  await expect(lockWatched([join(dir, "a"), join(dir, "b")], dir)).rejects.toMatchObject({ code: "FOLDER_IN_USE" });
  await (
    await lockWatched([join(dir, "a")], dir)
  )();
  await release();
});

test("locks that others could plant are not used", async () => {
  const uid = process.getuid?.() ?? 0;
  const locks = join(dir, `tidemark-run-${uid}`);
  await mkdir(locks);
  await chmod(locks, 0o777);
  await symlink("1 1 elsewhere", join(locks, "planted.lock"));
  await (
    await lockWatched([dir], dir)
  )();
});
