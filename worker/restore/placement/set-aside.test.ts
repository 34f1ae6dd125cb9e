import { execFileSync } from "node:child_process";
import { chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { contentOf } from "#worker/capture/ledger-books.ts";
import { lookAt } from "#worker/capture/detection/look.ts";
import type { Stored } from "../confirm-stored.ts";
import { placesOf, putInPlace } from "./put-in-place.ts";
import { keepAs, listAllAside, listAside, removeStoredAside, setAside } from "./set-aside.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-aside-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, text = name): Promise<string> {
  const path = join(folder, name);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "model.safetensors"), text);
  return path;
}

/** A ledger that knows this content as stored, and a hub that confirms all of it. */
const booksOf = (isStored: (path: string, fingerprint: string) => boolean): Stored => ({
  storedAs: (path, fingerprint) => (isStored(path, fingerprint) ? "checkpoint-id" : null),
  confirm: async (ids) => new Set(ids),
});

test("what is set aside twice is there twice, and is listed under its own name", async () => {
  await setAside(await write("checkpoint-50", "first"), { isTorn: true });
  await setAside(await write("checkpoint-50", "second"), { isTorn: true });
  await setAside(await write("checkpoint-60"), { isTorn: false });
  const listed = await listAside(folder);
  expect(listed.map(({ name, files }) => [name, files])).toEqual([
    ["checkpoint-60", 1],
    ["checkpoint-50", 1],
    ["checkpoint-50", 1],
  ]);
  const texts = await Promise.all(listed.map(({ path }) => readFile(join(path, "model.safetensors"), "utf8")));
  expect(texts).toEqual(["checkpoint-60", "first", "second"]);
});

test("only what is in the bucket byte for byte is removed without a person", async () => {
  const stored = await write("checkpoint-60");
  const fingerprint = (await lookAt({ path: stored, kind: "folder" }))?.fingerprint;
  await setAside(stored, { isTorn: false });
  await setAside(await write("checkpoint-60", "other bytes of another length"), { isTorn: false });
  await setAside(await write("checkpoint-70"), { isTorn: true });
  await mkdir(join(folder, ".set-aside-checkpoint-80"));
  const removed = await removeStoredAside(
    folder,
    booksOf((path, print) => path === stored && print === fingerprint),
  );
  expect(removed).toEqual([join(folder, ".set-aside-checkpoint-60")]);
  expect((await readdir(folder)).toSorted()).toEqual([
    ".set-aside-checkpoint-60.again-2",
    ".set-aside-checkpoint-80",
    ".set-aside-unfinished-checkpoint-70",
  ]);
});

test("what was stored stays as long as nobody confirms that its checkpoint is complete in the bucket now", async () => {
  const ids = new Map<string, string>();
  const asked: (readonly string[])[] = [];
  for (const name of ["checkpoint-60", "checkpoint-70", "checkpoint-80"]) {
    await setAside(await write(name), { isTorn: false });
    if (name !== "checkpoint-80") ids.set(join(folder, name), `id of ${name}`);
  }
  const knowing = (...complete: string[]): Stored => ({
    storedAs: (path) => ids.get(path) ?? null,
    confirm: async (wanted) => {
      asked.push(wanted);
      return new Set(complete);
    },
  });
  expect(await removeStoredAside(folder, knowing())).toEqual([]);
  expect(asked).toEqual([["id of checkpoint-60", "id of checkpoint-70"]]);
  const removed = await removeStoredAside(folder, knowing("id of checkpoint-70"));
  expect(removed).toEqual([join(folder, ".set-aside-checkpoint-70")]);
  expect((await readdir(folder)).toSorted()).toEqual([".set-aside-checkpoint-60", ".set-aside-checkpoint-80"]);
});

test("what somebody writes to while the hub is asked stays", async () => {
  await setAside(await write("checkpoint-60"), { isTorn: false });
  const confirm: Stored["confirm"] = async (asked) => {
    await writeFile(join(folder, ".set-aside-checkpoint-60", "late.txt"), "of a file that was open");
    return new Set(asked);
  };
  expect(await removeStoredAside(folder, { storedAs: () => "id", confirm })).toEqual([]);
  expect(await readdir(folder)).toEqual([".set-aside-checkpoint-60"]);
});

test("what cannot be captured whole is listed, stays, and keeps nobody from looking at the rest", async () => {
  const linked = await write("checkpoint-50");
  await symlink(tmpdir(), join(linked, "linked"));
  const piped = await write("checkpoint-55");
  execFileSync("mkfifo", [join(piped, "requests")]);
  await setAside(linked, { isTorn: true });
  await setAside(piped, { isTorn: true });
  await setAside(await write("checkpoint-60"), { isTorn: false });
  const listed = await listAside(folder);
  expect(listed.map(({ name }) => name)).toEqual(["checkpoint-60", "checkpoint-50", "checkpoint-55"]);
  const all = booksOf(() => true);
  expect(await removeStoredAside(folder, all)).toEqual([join(folder, ".set-aside-checkpoint-60")]);
  expect((await readdir(folder)).toSorted()).toEqual([
    ".set-aside-unfinished-checkpoint-50",
    ".set-aside-unfinished-checkpoint-55",
  ]);
});

test("nothing is set aside inside the folder that accelerate lists whole, whichever folder is watched", async () => {
  const stored = await write("checkpoints/checkpoint_1");
  const fingerprint = (await lookAt({ path: stored, kind: "folder" }))?.fingerprint;
  const checkpoints = join(folder, "checkpoints");
  const outside = join(folder, ".set-aside-checkpoints");
  expect(await setAside(stored, { isTorn: false })).toBe(join(outside, "checkpoint_1"));
  await setAside(await write("checkpoints/checkpoint_2"), { isTorn: true });
  await keepAs(await write("checkpoints/.checkpoint_3.replaced-1"), join(checkpoints, "checkpoint_3"));
  expect(await readdir(checkpoints)).toEqual([]);
  const names = ["checkpoint_1", "checkpoint_3", "checkpoint_2"];
  expect((await listAside(checkpoints)).map(({ name }) => name)).toEqual(names);
  expect((await listAside(folder)).map(({ name }) => name)).toEqual(names.map((name) => `checkpoints/${name}`));
  const isStored = (path: string, print: string) => path === stored && print === fingerprint;
  expect(await removeStoredAside(checkpoints, booksOf(isStored))).toEqual([join(outside, "checkpoint_1")]);
  expect(await readdir(outside)).toEqual(["checkpoint_3", "unfinished-checkpoint_2"]);
});

test("what is set aside deep below the watched folder is listed by its path, and removed when it is stored", async () => {
  const deep = "lightning_logs/version_0";
  const stored = await write(`${deep}/step_50`);
  const fingerprint = (await lookAt({ path: stored, kind: "folder" }))?.fingerprint;
  await setAside(stored, { isTorn: false });
  await setAside(await write(`${deep}/project/checkpoints/checkpoint_2`), { isTorn: true });
  await setAside(await write("checkpoint-60"), { isTorn: false });
  expect((await listAllAside([folder])).map(({ name }) => name)).toEqual([
    "checkpoint-60",
    `${deep}/step_50`,
    `${deep}/project/checkpoints/checkpoint_2`,
  ]);
  const removed = await removeStoredAside(
    folder,
    booksOf((path, print) => path === stored && print === fingerprint),
  );
  expect(removed).toEqual([join(folder, deep, ".set-aside-step_50")]);
});

/** Writes files of one folder and returns what the ledger keeps of them: the path of the first, and the fingerprint of all. */
async function writeFiles(...names: string[]): Promise<{ path: string; fingerprint: string | undefined }> {
  for (const name of names) await writeFile(join(folder, name), `${name} trained`);
  const path = join(folder, names[0] ?? "");
  return { path, fingerprint: (await lookAt({ path, kind: "files", names }))?.fingerprint };
}

test("a checkpoint whose name fills the limit of the disk is put in place over another, and is set aside", async () => {
  for (const name of ["m".repeat(255), "é".repeat(127)]) {
    const places = placesOf(join(folder, name), "0123456789abcdef");
    await write(name, "old");
    await mkdir(places.staging);
    await writeFile(join(places.staging, "model.safetensors"), "new");
    await putInPlace(places, {});
    expect(await readFile(join(folder, name, "model.safetensors"), "utf8")).toBe("new");
    const aside = [await setAside(join(folder, name), { isTorn: true })];
    aside.push(await setAside(await write(name, "once more"), { isTorn: true }));
    expect((await listAside(folder)).map(({ path }) => path)).toEqual(expect.arrayContaining(aside));
  }
});

test("what is set aside among thousands of folders is listed", async () => {
  for (let at = 0; at < 2_100; at++) {
    await mkdir(join(folder, `job-${at}`));
    await writeFile(join(folder, `job-${at}`, ".set-aside-ckpt.pt"), "x");
  }
  expect(await listAside(folder)).toHaveLength(2_100);
});

test("a file that is in the bucket byte for byte is removed as a folder is, and no other one", async () => {
  const stored = await writeFiles("ckpt_50.pt");
  const look = await lookAt({ path: stored.path, kind: "file" });
  expect(look?.fingerprint).toBe(stored.fingerprint);
  await setAside(stored.path, { isTorn: false });
  await writeFile(stored.path, "other bytes of another length");
  await setAside(stored.path, { isTorn: false });
  await writeFiles("ckpt_60.pt");
  await setAside(join(folder, "ckpt_60.pt"), { isTorn: true });
  const isStored = (path: string, print: string) => path === stored.path && print === stored.fingerprint;
  expect(await removeStoredAside(folder, booksOf(isStored))).toEqual([join(folder, ".set-aside-ckpt_50.pt")]);
  expect((await readdir(folder)).toSorted()).toEqual([
    ".set-aside-ckpt_50.pt.again-2",
    ".set-aside-unfinished-ckpt_60.pt",
  ]);
});

test("a pointer is removed when the bucket has its bytes, whenever they were written", async () => {
  for (const text of ["global_step50", "global_step90"]) {
    await writeFile(join(folder, "latest"), text);
    await setAside(join(folder, "latest"), { isTorn: false });
  }
  const stored = contentOf(crc32Hex("global_step50"), "global_step50".length);
  const isStored = (path: string, print: string) => path === join(folder, "latest") && print === stored;
  expect(await removeStoredAside(folder, booksOf(isStored))).toEqual([join(folder, ".set-aside-latest")]);
  expect(await readdir(folder)).toEqual([".set-aside-latest.again-2"]);
});

test("files that are one checkpoint are removed together, and none of them while one differs", async () => {
  const names = ["model_50.pt", "optim_50.pt"];
  const stored = await writeFiles(...names);
  const isStored = (path: string, print: string) => path === stored.path && print === stored.fingerprint;
  const asideAll = async () => {
    for (const name of names) await setAside(join(folder, name), { isTorn: false });
  };
  await asideAll();
  await writeFiles(...names);
  await writeFile(join(folder, "optim_50.pt"), "half");
  await asideAll();
  expect(await removeStoredAside(folder, booksOf(isStored))).toEqual(
    names.map((name) => join(folder, `.set-aside-${name}`)),
  );
  const kept = names.map((name) => `.set-aside-${name}.again-2`);
  expect(await readdir(folder)).toEqual(kept);
  expect(await removeStoredAside(folder, booksOf(isStored))).toEqual([]);
});

test("a folder that is not there has nothing aside, and what is gone need not be moved", async () => {
  expect(await listAside(join(folder, "nowhere"))).toEqual([]);
  await setAside(join(folder, "checkpoint-1"), { isTorn: true });
  expect(await readdir(folder)).toEqual([]);
});

test.runIf(process.getuid?.() === 0)(
  "the folder that root makes for accelerate's checkpoints belongs to the owner of the folder above, who can empty it",
  async () => {
    await chown(folder, 54_321, 54_322);
    await setAside(await write("checkpoints/checkpoint_1"), { isTorn: false });
    const { uid, gid } = await lstat(join(folder, ".set-aside-checkpoints"));
    expect([uid, gid]).toEqual([54_321, 54_322]);
  },
);
