import { chown, lstat, mkdir, mkdtemp, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { attributesOf } from "#protocol/checkpoint/file-attributes.ts";
import { filePath } from "#protocol/base/names.ts";
import { OTHER_USER, runAsOtherUser } from "#worker/testing/as-other-user.ts";
import { giveBesideToOwners, giveDatesAndOwner, giveModes, giveToOwner, lockFolders } from "./give-attributes.ts";
import type { Refused } from "./owner.ts";

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
  await giveModes(staging, { files, ...(attributes !== null && { attributes }) }, { paths: null });
  expect([await modeOf("a"), await modeOf("b.sh"), await modeOf("sub/c")]).toEqual(["644", "775", "640"]);
  expect((await stat(join(staging, "none/deeper"))).isDirectory()).toBe(true);
});

const FOLDERS = new Map([
  ["", 0o777],
  ["sub", 0o500],
  ["sub/deep", 0o111],
]);

test("folders have the modes that they had, but nobody else may write to them", async () => {
  await mkdir(join(staging, "sub/deep"));
  const attributes = attributesOf([], [], FOLDERS) ?? undefined;
  await giveDatesAndOwner(staging, { dateMs: 1, attributes });
  await lockFolders(staging, { attributes });
  expect([await modeOf(""), await modeOf("sub"), await modeOf("sub/deep")]).toEqual(["775", "500", "111"]);
});

test("a folder whose own user may not enter it or write to it gets that mode last", async () => {
  const module = import.meta.resolve("./give-attributes.ts");
  const attributes = attributesOf([], [], FOLDERS);
  await mkdir(join(staging, "sub/deep"));
  if (process.getuid?.() === 0)
    for (const name of ["", "staging", "staging/sub", "staging/sub/deep"])
      await chown(join(folder, name), OTHER_USER, OTHER_USER);
  const script = `
    import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
    const { giveDatesAndOwner, lockFolders } = await import(${JSON.stringify(module)});
    const [staging, attributes] = ${JSON.stringify([staging, attributes])};
    const modes = () => ["", "/sub", "/sub/deep"].map((name) => (statSync(staging + name).mode & 0o777).toString(8));
    await giveDatesAndOwner(staging, { dateMs: 1, attributes });
    const before = modes();
    writeFileSync(staging + "/sub/deep/late", "");
    await lockFolders(staging, { attributes });
    console.log(JSON.stringify([before, modes()]));`;
  expect(JSON.parse(runAsOtherUser(script))).toEqual([
    ["775", "700", "711"],
    ["775", "500", "111"],
  ]);
});

test("of chosen files only those are touched, and no folder is made", async () => {
  const attributes = attributesOf([0o600, 0o755, 0o600], ["none"]);
  const paths = new Set(["b.sh"]);
  await giveModes(staging, { files, ...(attributes !== null && { attributes }) }, { paths });
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

test("folders have the date of their newest file, and those without files that of the checkpoint", async () => {
  await utimes(join(staging, "a"), 500, 500);
  await utimes(join(staging, "b.sh"), 1_000, 1_000);
  await utimes(join(staging, "sub/c"), 300, 300);
  await mkdir(join(staging, "none/deeper"), { recursive: true });
  await giveDatesAndOwner(staging, { dateMs: 2_000_000 });
  const secondsOf = async (name: string) => (await stat(join(staging, name))).mtimeMs / 1_000;
  expect(await Promise.all(["", "sub", "none", "none/deeper"].map(secondsOf))).toEqual([1_000, 300, 2_000, 2_000]);
});

test.runIf(process.getuid?.() === 0)(
  "a folder that is somebody else's already is left as it is, and that is told",
  async () => {
    await chown(staging, 1_000, 1_000);
    await chown(folder, 54_321, 54_322);
    const refused: Refused[] = [];
    await giveToOwner(staging, (one) => void refused.push(one));
    expect((await stat(join(staging, "a"))).uid).toBe(0);
    expect(refused).toEqual([{ what: "owner", path: staging, code: "EPERM", owner: { uid: 54_321, gid: 54_322 } }]);
  },
);

test.runIf(process.getuid?.() === 0)(
  "files that go beside the checkpoint get the owner of their place, and the folders in which they wait stay root's",
  async () => {
    const owners = new Map([
      ["a", { uid: 54_321, gid: 54_322 }],
      ["sub/c", { uid: 54_323, gid: 54_324 }],
    ]);
    await giveBesideToOwners(staging, { owners });
    const ownerOf = async (name: string) => (await lstat(join(staging, name))).uid;
    expect(await Promise.all(["a", "b.sh", "sub/c", "", "sub"].map(ownerOf))).toEqual([54_321, 0, 54_323, 0, 0]);
  },
);
