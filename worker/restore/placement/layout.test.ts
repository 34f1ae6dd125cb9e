import { chown, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkpointPlace, type CheckpointPlace } from "#protocol/checkpoint/place.ts";
import { filePath } from "#protocol/base/names.ts";
import { besideAt, layoutOf, type Placed } from "./layout.ts";
import { OTHER_USER, runAsOtherUser } from "../../testing/as-other-user.ts";
import { openMadeFolders } from "./make-folders.ts";
import { putBeside, splitBeside } from "./put-beside.ts";
import { lookAt } from "#worker/capture/detection/look.ts";
import { placesOf, putFilesInPlace } from "./put-in-place.ts";

const TRANSFER = "transfer-id-1";
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-layout-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const placed = (place: CheckpointPlace | undefined, ...names: string[]): Placed => ({
  step: 600,
  files: names.map((name) => ({ path: filePath.parse(name), sizeBytes: 1, mtimeMs: 0, sha256: null, extents: [] })),
  ...(place !== undefined && { place }),
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

test("what was a file is one again under its own name, and lies in a folder under any other", () => {
  const file = placed(
    checkpointPlace.parse({ path: "logs/epoch=5-step=600.ckpt", kind: "file" }),
    "epoch=5-step=600.ckpt",
  );
  expect(layoutOf(file, "/w/logs/epoch=5-step=600.ckpt")).toEqual({
    kind: "files",
    isOwnName: true,
    names: ["epoch=5-step=600.ckpt"],
  });
  expect(layoutOf(file, "/elsewhere/epoch=5-step=600.ckpt")).toMatchObject({ kind: "files" });
  expect(layoutOf(file, "/w/checkpoint-600")).toEqual({ kind: "folder", isOwnName: false });
});

test("what lies beside goes to the watched folder of the target, and nowhere else", () => {
  const beside = [{ path: "latest", file: ".tidemark-beside/latest" }];
  const place = checkpointPlace.parse({ path: "runs/global_step600", kind: "folder", beside });
  const one = placed(place, "model.pt", ".tidemark-beside/latest");
  expect(besideAt(one, "/w/runs/global_step600")).toEqual({ root: "/w", entries: place.beside });
  expect(besideAt(one, "/restored/global_step600")).toBeNull();
  expect(layoutOf(one, "/w/runs/global_step600")).toEqual({ kind: "folder", isOwnName: true });
});

test("files take their places beside others, and what they replace is kept", async () => {
  const target = join(folder, "model_10.pt");
  const places = placesOf(target, TRANSFER);
  await write("other.txt", "mine");
  await write("model_10.pt", "of another program");
  for (const name of ["model_10.pt", "optim_10.pt"]) {
    await mkdir(places.staging, { recursive: true });
    await writeFile(join(places.staging, name), `restored ${name}`);
  }
  const kept: string[] = [];
  const names = ["model_10.pt", "optim_10.pt"];
  await putFilesInPlace(places, { names, transferId: TRANSFER }, { onKept: (place) => void kept.push(place) });
  expect((await readdir(folder)).toSorted()).toEqual([
    ".set-aside-model_10.pt",
    "model_10.pt",
    "optim_10.pt",
    "other.txt",
  ]);
  expect(await readFile(target, "utf8")).toBe("restored model_10.pt");
  expect(kept).toEqual([join(folder, ".set-aside-model_10.pt")]);
});

test("a file that makes way is removed when it is in the bucket byte for byte, under the name that it had", async () => {
  const target = join(folder, "ckpt_50.pt");
  await write("ckpt_50.pt", "the same");
  const stored = (await lookAt({ path: target, kind: "file" }))?.fingerprint;
  const restore = async () => {
    const places = placesOf(target, TRANSFER);
    await mkdir(places.staging, { recursive: true });
    await writeFile(join(places.staging, "ckpt_50.pt"), "restored, of another length");
    const isStored = async (path: string, print: string) => path === target && print === stored;
    await putFilesInPlace(places, { names: ["ckpt_50.pt"], transferId: TRANSFER }, { isStored });
  };
  await restore();
  expect(await readdir(folder)).toEqual(["ckpt_50.pt"]);
  await restore();
  expect((await readdir(folder)).toSorted()).toEqual([".set-aside-ckpt_50.pt", "ckpt_50.pt"]);
});

/** Puts these files and links beside a checkpoint that was restored to `step_600`. */
async function beside(files: Readonly<Record<string, string>>, links: Readonly<Record<string, string>> = {}) {
  const places = placesOf(join(folder, "step_600"), TRANSFER);
  for (const [path, text] of Object.entries(files)) {
    const at = join(places.staging, ".tidemark-beside", path);
    await mkdir(dirname(at), { recursive: true });
    await writeFile(at, text);
  }
  const entries = [
    ...Object.keys(files).map((path) => ({ path, file: `.tidemark-beside/${path}` })),
    ...Object.entries(links).map(([path, link]) => ({ path, link })),
  ];
  const { beside: read = [] } = checkpointPlace.parse({ path: "step_600", kind: "folder", beside: entries });
  const at = { root: folder, entries: read };
  await splitBeside(places, at);
  const folders = await openMadeFolders(join(folder, "made.folders.jsonl"));
  await putBeside(places, at, { transferId: TRANSFER, replaced: {}, folders });
  await folders.forget();
}

test("a pointer takes the place of one that names another checkpoint; settings that are there stay", async () => {
  await write("latest", "global_step900");
  await write("config.yaml", "mine");
  await beside({ latest: "global_step600", "config.yaml": "theirs", ".hydra/overrides.yaml": "[]" });
  expect(await readFile(join(folder, "latest"), "utf8")).toBe("global_step600");
  expect(await readFile(join(folder, ".set-aside-latest"), "utf8")).toBe("global_step900");
  expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe("mine");
  expect(await readFile(join(folder, ".hydra/overrides.yaml"), "utf8")).toBe("[]");
});

test("a manifest puts no program beside a checkpoint, and no link over a file", async () => {
  await write("last.ckpt", "a file");
  await beside({ "train.py": "import os", "sub/.bashrc": "x" }, { "last.ckpt": "step_600", best: "step_600" });
  expect((await readdir(folder)).includes("train.py")).toBe(false);
  expect(await readFile(join(folder, "last.ckpt"), "utf8")).toBe("a file");
  expect(await readlink(join(folder, "best"))).toBe("step_600");
});

test("a link in the way is no way out of the folder", async () => {
  const outside = await mkdtemp(join(tmpdir(), "tidemark-layout-outside-"));
  await symlink(outside, join(folder, "sub"));
  await expect(beside({ "sub/latest": "global_step600" })).rejects.toMatchObject({ code: "HOSTILE_NAME" });
  expect(await readdir(outside)).toEqual([]);
  await rm(outside, { recursive: true });
});

test.runIf(process.getuid?.() === 0)(
  "files and links that root puts beside a checkpoint belong to the owner of their folder, and so do folders made for them",
  async () => {
    await mkdir(join(folder, "theirs"));
    await chown(folder, 54_321, 54_322);
    await chown(join(folder, "theirs"), 54_323, 54_324);
    await beside(
      { latest: "step_600", ".hydra/config.yaml": "a", "theirs/config.yaml": "b" },
      { "last.ckpt": "step_600" },
    );
    const ownerOf = async (name: string) => {
      const { uid, gid } = await lstat(join(folder, name));
      return [name, uid, gid];
    };
    const names = ["latest", ".hydra", ".hydra/config.yaml", "last.ckpt", "theirs/config.yaml"];
    expect(await Promise.all(names.map(ownerOf))).toEqual([
      ...names.slice(0, -1).map((name) => [name, 54_321, 54_322]),
      ["theirs/config.yaml", 54_323, 54_324],
    ]);
  },
);

test.runIf(process.getuid?.() === 0)(
  "a replaced folder of another user that cannot be removed is kept aside, and the new one is in place",
  async () => {
    const target = join(folder, "step_600");
    const places = placesOf(target, TRANSFER);
    for (const at of [target, places.staging]) await mkdir(at);
    await writeFile(join(target, "model.pt"), "of root");
    for (const at of [folder, places.staging]) await chown(at, OTHER_USER, OTHER_USER);
    const said =
      runAsOtherUser(`const { putInPlace } = await import(${JSON.stringify(join(import.meta.dirname, "put-in-place.ts"))});
      await putInPlace(${JSON.stringify(places)}, { isStored: async () => true, onKept: (...about) => console.log(...about) });`);
    expect(said).toBe(`${join(folder, ".set-aside-step_600")} EPERM`);
    expect(await readdir(target)).toEqual([]);
    expect(await readFile(join(folder, ".set-aside-step_600/model.pt"), "utf8")).toBe("of root");
  },
);
