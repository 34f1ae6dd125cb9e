import { chmod, chown, lstat, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolders, openMadeFolders } from "./make-folders.ts";

const isRoot = process.getuid?.() === 0;

let folder: string;
let journal: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-folders-"));
  journal = join(folder, "restore.folders.jsonl");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);
const ownerOf = async (name: string) => {
  const { uid, gid } = await lstat(at(name));
  return [uid, gid];
};

test("only folders that were missing are returned, and none lets everybody write", async () => {
  await mkdir(at("there"));
  const umask = process.umask(0);
  const made = await makeFolders({ base: folder, folder: at("there/a/b") }).finally(() => process.umask(umask));
  expect(made).toEqual([at("there/a"), at("there/a/b")]);
  for (const path of made) expect((await stat(path)).mode & 0o777).toBe(0o775);
  expect(await makeFolders({ base: folder, folder: at("there/a/b") })).toEqual([]);
});

test("a link or a file in the way is refused, and nothing is made behind it", async () => {
  await mkdir(at("outside"));
  await symlink(at("outside"), at("link"));
  await writeFile(at("file"), "");
  for (const name of ["link/a", "file/a"])
    await expect(makeFolders({ base: folder, folder: at(name) })).rejects.toMatchObject({ code: "HOSTILE_NAME" });
  expect(await readdir(at("outside"))).toEqual([]);
});

test.runIf(isRoot)("each folder that root makes belongs to the owner of the nearest one that was there", async () => {
  await mkdir(at("first/second"), { recursive: true });
  await chown(at("first"), 54_321, 54_322);
  await chown(at("first/second"), 0, 54_323);
  await chmod(at("first/second"), 0o2775);
  const folders = await openMadeFolders(journal);
  await folders.makeAll(at("first/logs/version_0/checkpoints"));
  await folders.makeBelow(folder, at("first/second/deep/er"));
  for (const name of ["first/logs", "first/logs/version_0", "first/logs/version_0/checkpoints"])
    expect(await ownerOf(name)).toEqual([54_321, 54_322]);
  for (const name of ["first/second/deep", "first/second/deep/er"]) expect(await ownerOf(name)).toEqual([0, 54_323]);
  expect(await ownerOf("first/second")).toEqual([0, 54_323]);
});

test.runIf(isRoot)(
  "a restore that was killed between making a folder and giving it away gives it away later",
  async () => {
    await chown(folder, 54_321, 54_322);
    const first = await openMadeFolders(journal);
    await first.makeAll(at("a/b"));
    await chown(at("a/b"), 0, 0);
    const second = await openMadeFolders(journal);
    await second.makeAll(at("a/b/c"));
    for (const name of ["a", "a/b", "a/b/c"]) expect(await ownerOf(name)).toEqual([54_321, 54_322]);
  },
);

test.runIf(isRoot)("a folder of root that this restore did not make stays root's, as what lies in it", async () => {
  await chown(folder, 54_321, 54_322);
  await mkdir(at("of-root"));
  const folders = await openMadeFolders(journal);
  await folders.makeAll(at("of-root/a"));
  expect([await ownerOf("of-root"), await ownerOf("of-root/a")]).toEqual([
    [0, 0],
    [0, 0],
  ]);
});

test("folders that it made get the date, also those of an earlier process, and those that were there keep theirs", async () => {
  await mkdir(at("there"));
  const first = await openMadeFolders(journal);
  await first.makeAll(at("there/a/b"));
  await writeFile(at("there/a/b/file"), "");
  const before = (await stat(at("there"))).mtimeMs;
  const second = await openMadeFolders(journal);
  await second.makeAll(at("there/a/b"));
  await second.setDates(1_700_000_000_000);
  for (const name of ["there/a", "there/a/b"]) expect((await stat(at(name))).mtimeMs).toBe(1_700_000_000_000);
  expect((await stat(at("there"))).mtimeMs).toBe(before);
  await second.forget();
  expect((await readdir(folder)).toSorted()).toEqual(["there"]);
});
