import { chown, lstat, mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { attributesOf } from "#protocol/checkpoint/file-attributes.ts";
import { filePath } from "#protocol/base/names.ts";
import { giveAttributes, giveBesideToOwner, giveToOwner } from "./give-attributes.ts";

let folder: string;
let staging: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-attributes-"));
  staging = join(folder, "staging");
  await mkdir(join(staging, "sub"), { recursive: true });
  for (const name of ["a", "b.sh", "sub/c"]) await writeFile(join(staging, name), name);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const files = ["a", "b.sh", "sub/c"].map((path) => ({
  path: filePath.parse(path),
  sizeBytes: 0,
  mtimeMs: 1,
  sha256: null,
  extents: [],
}));
const modeOf = async (name: string) => ((await stat(join(staging, name))).mode & 0o777).toString(8);

test("files have the modes that they had, but nobody else may write to them, and empty folders are made", async () => {
  const attributes = attributesOf([0o644, 0o777, 0o640], ["none/deeper"]);
  await giveAttributes(staging, { files, ...(attributes !== null && { attributes }) }, null);
  expect([await modeOf("a"), await modeOf("b.sh"), await modeOf("sub/c")]).toEqual(["644", "775", "640"]);
  expect((await stat(join(staging, "none/deeper"))).isDirectory()).toBe(true);
});

test("of chosen files only those are touched, and no folder is made", async () => {
  const attributes = attributesOf([0o600, 0o755, 0o600], ["none"]);
  await giveAttributes(staging, { files, ...(attributes !== null && { attributes }) }, new Set(["b.sh"]));
  expect([await modeOf("a"), await modeOf("b.sh")]).toEqual(["644", "755"]);
  await expect(stat(join(staging, "none"))).rejects.toThrow("ENOENT");
});

test.runIf(process.getuid?.() === 0)(
  "what root restores belongs to the owner of the folder above, links themselves too",
  async () => {
    await writeFile(join(folder, "outside"), "");
    await symlink(join(folder, "outside"), join(staging, "sub/link"));
    await chown(folder, 54_321, 54_322);
    await giveToOwner(staging);
    for (const name of ["", "a", "sub", "sub/c", "sub/link"]) {
      const { uid, gid } = await lstat(join(staging, name));
      expect({ name, uid, gid }).toEqual({ name, uid: 54_321, gid: 54_322 });
    }
    expect((await stat(join(folder, "outside"))).uid).toBe(0);
  },
);

test.runIf(process.getuid?.() === 0)("a folder that is somebody else's already is left as it is", async () => {
  await chown(staging, 1_000, 1_000);
  await chown(folder, 54_321, 54_321);
  await giveToOwner(staging);
  expect((await stat(join(staging, "a"))).uid).toBe(0);
});

test.runIf(process.getuid?.() === 0)(
  "files that go beside the checkpoint get the owner of their place, and the folders in which they wait stay root's",
  async () => {
    await chown(folder, 54_321, 54_322);
    await giveBesideToOwner(staging, folder);
    const ownerOf = async (name: string) => (await lstat(join(staging, name))).uid;
    expect([await ownerOf("a"), await ownerOf("sub/c")]).toEqual([54_321, 54_321]);
    expect([await ownerOf(""), await ownerOf("sub")]).toEqual([0, 0]);
  },
);
