import { chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { OTHER_USER, runAsOtherUser } from "../../testing/as-other-user.ts";
import { removeOwned, removeOwnedNow, renameOwned, renameOwnedNow, unlinkOwned } from "./change-disk.ts";
import { OWNED_PATHS, type Owned } from "./owned-paths.ts";

const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "change-disk-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** What people have on their disks. */
const PEOPLES = [
  "/work/ck",
  "/work/ck/checkpoint-500",
  "/work/ck/checkpoint-500/model.safetensors",
  "/work/ck/tokenizer-32000",
  "/work/ck/data_2026/train.bin",
  "/work/ck/.git",
  "/work/train.py",
  "/home/me",
  "/",
];

test.each(Object.keys(OWNED_PATHS).filter((owned) => owned !== "asked"))(
  "nothing that a person or a program made is taken for %s",
  (owned) => {
    for (const path of PEOPLES) expect(OWNED_PATHS[owned as Owned].fits(path), path).toBe(false);
  },
);

test.each<[Owned, string]>([
  ["journal", `/state/uploads/${UUID}.jsonl`],
  ["journal", "/state/ledger.jsonl.new"],
  ["state-file", "/state/limits.json"],
  ["state-file", "/state/links.json.4711"],
  ["state-file", "/tmp/tidemark-run-0/0123456789abcdef.local.sock"],
  ["lock", "/state/worker.lock.0123456789ab.dead"],
  ["capture", `/state/captures/${UUID}`],
  ["scratch", `/state/drills/${UUID}/checkpoint-5`],
  ["scratch", "/tmp/tidemark-bench-x7Fa2c/fetched"],
  ["nameless-file", `/tmp/.list-${UUID}`],
  ["download-part", "/data/.model.bin.part-00ff"],
  ["restore-part", "/work/ck/.checkpoint-5.restoring-0f8fad5b-d9c/deep/model.bin"],
  ["replaced", "/work/ck/.checkpoint-5.replaced-0f8fad5b-d9c"],
  ["set-aside", "/work/ck/.set-aside-unfinished-checkpoint-5"],
])("%s: %s", (owned, path) => {
  expect(OWNED_PATHS[owned].fits(path)).toBe(true);
});

test("a path that is none of Tidemark's is refused before the disk is touched", async () => {
  const path = join(folder, "checkpoint-500");
  await mkdir(path);
  await writeFile(join(path, "model.safetensors"), "weights");
  const refused = { code: "INTERNAL" };
  await expect(removeOwned("set-aside", path)).rejects.toMatchObject(refused);
  await expect(unlinkOwned("restore-part", join(path, "model.safetensors"))).rejects.toMatchObject(refused);
  await expect(renameOwned("set-aside", path, join(folder, "elsewhere"))).rejects.toMatchObject(refused);
  expect(() => removeOwnedNow("capture", path)).toThrow(expect.objectContaining(refused));
  expect(() => renameOwnedNow("download-part", path, join(folder, "other"))).toThrow(expect.objectContaining(refused));
  expect(await readdir(path)).toEqual(["model.safetensors"]);
  expect(await readdir(folder)).toEqual(["checkpoint-500"]);
});

test("what is Tidemark's is removed with all that is in it, and may be gone already", async () => {
  const path = join(folder, ".checkpoint-5.restoring-0f8fad5b-d9c");
  await mkdir(join(path, "deep"), { recursive: true });
  await removeOwned("restore-part", path);
  await removeOwned("restore-part", path);
  expect(await readdir(folder)).toEqual([]);
});

test("folders that may not be written are removed with what is in them", async () => {
  const path = join(folder, ".set-aside-checkpoint-5");
  const all = ["", "experts", "experts/none"].map((name) => join(path, name));
  await mkdir(join(path, "experts/none"), { recursive: true });
  await writeFile(join(path, "experts/model.bin"), "weights");
  for (const each of [folder, ...all]) if (process.getuid?.() === 0) await chown(each, OTHER_USER, OTHER_USER);
  for (const each of all) await chmod(each, 0o555);
  runAsOtherUser(`const { removeOwned } = await import(${JSON.stringify(join(import.meta.dirname, "change-disk.ts"))});
    await removeOwned("set-aside", ${JSON.stringify(path)});`);
  expect(await readdir(folder)).toEqual([]);
});
