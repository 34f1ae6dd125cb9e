import { chown, lstat, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { attributesOf } from "#protocol/checkpoint/file-attributes.ts";
import { makeSafetensors } from "#storage/testing/plain-safetensors.ts";
import { manifestOf, restoreJobOf, STAGED_DATE_MS, stopOnceSure, storeBytes } from "../testing/stage-stored.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { restore } from "./restore.ts";
import type { RestoreJob } from "./restore-job.ts";

/** However a checkpoint is restored, its files and folders have the same modes, dates and owner at the end. */
const MIB = 1024 * 1024;
const EARLIER_MS = STAGED_DATE_MS - 1_000_000;
const [UID, GID] = process.getuid?.() === 0 ? [54_321, 54_322] : [process.getuid?.(), process.getgid?.()];

let store: TrialStore;
let manifest: Manifest;
let folder: string;
let target: string;

beforeAll(async () => {
  store = await openTrialStore();
  const tensors = ["a", "b"].map((name) => ({ name, dtype: "F32", shape: [MIB / 4], bytes: Buffer.alloc(MIB, name) }));
  const model = makeSafetensors(tensors);
  const key = "runs/llama/e000001/aaaaaaaaaaaa/model.safetensors";
  const stored = await storeBytes(store, { key, bytes: model, pieceBytes: MIB / 2 });
  // Two files of one object are fetched together.
  const pack = { key: "runs/llama/e000001/aaaaaaaaaaaa/pack", bytes: Buffer.from("onetwo"), pieceBytes: 3 };
  const packed = await storeBytes(store, pack);
  const plain = manifestOf(stored);
  const small = ["one.sh", "small/two"].map((path, at) => ({
    path,
    sizeBytes: 3,
    mtimeMs: EARLIER_MS,
    sha256: null,
    extents: packed.pieces.slice(at, at + 1),
  }));
  manifest = manifestSchema.parse({
    ...plain,
    files: [...plain.files, ...small],
    sizeBytes: plain.sizeBytes + 6,
    attributes: attributesOf([0o444, 0o644, 0o755, 0o600], ["none/deeper"]),
  });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-attributes-"));
  if (UID !== undefined && GID !== undefined) await chown(folder, UID, GID);
  target = join(folder, "out", "deep", "checkpoint-500");
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(() => store.close());

const jobOf = (change: Partial<RestoreJob> = {}): RestoreJob => ({
  ...restoreJobOf(manifest, { folder, target, given: manifest }),
  ...change,
});
const stopAtEnd = () => Promise.reject(new Error("stopped"));

/** Returns mode, date, user and group of everything below the folder in which the target lies. */
async function attributesBelow(path: string): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {};
  for (const name of await readdir(path, { recursive: true })) {
    const stats = await lstat(join(path, name));
    found[name] = [(stats.mode & 0o7777).toString(8), stats.mtimeMs, stats.uid, stats.gid];
  }
  return found;
}

const MADE_FOLDER = (0o775 & ~process.umask()).toString(8);
const FOLDER = (0o755 & ~process.umask()).toString(8);
const ALL = {
  deep: [MADE_FOLDER, STAGED_DATE_MS, UID, GID],
  "deep/checkpoint-500": [FOLDER, STAGED_DATE_MS, UID, GID],
  "deep/checkpoint-500/deep": [FOLDER, STAGED_DATE_MS, UID, GID],
  "deep/checkpoint-500/deep/model.safetensors": ["444", STAGED_DATE_MS, UID, GID],
  "deep/checkpoint-500/empty.txt": ["644", STAGED_DATE_MS, UID, GID],
  "deep/checkpoint-500/one.sh": ["755", EARLIER_MS, UID, GID],
  "deep/checkpoint-500/small": [FOLDER, EARLIER_MS, UID, GID],
  "deep/checkpoint-500/small/two": ["600", EARLIER_MS, UID, GID],
  "deep/checkpoint-500/none": [FOLDER, STAGED_DATE_MS, UID, GID],
  "deep/checkpoint-500/none/deeper": [FOLDER, STAGED_DATE_MS, UID, GID],
};

test("a restore gives modes, dates and owner, also to the folders that it makes above the checkpoint", async () => {
  await restore(store.engine(), jobOf());
  expect(await attributesBelow(join(folder, "out"))).toEqual(ALL);
  expect(await readdir(join(folder, "journals"))).toEqual([]);
});

test("a restore gives folders their modes, also of chosen files and tensors, and over folders that may not be written", async () => {
  const folders = new Map(Object.entries({ "": 0o750, deep: 0o511, small: 0o700, none: 0o775, "none/deeper": 0o555 }));
  const attributes = attributesOf([0o444, 0o644, 0o755, 0o600], ["none/deeper"], folders);
  const given = manifestSchema.parse({ ...manifest, attributes });
  const job = (change: Partial<RestoreJob["command"]>): RestoreJob => {
    const made = restoreJobOf(given, { folder, target, given });
    return { ...made, command: { ...made.command, ...change }, replaced: { isStored: async () => true } };
  };
  const modes = (at: string) =>
    attributesBelow(join(folder, at)).then((found) =>
      Object.fromEntries(Object.entries(found).map(([name, [mode]]) => [name, mode])),
    );
  const wanted = { "": "750", "/deep": "511", "/small": "700", "/none": "775", "/none/deeper": "555" };
  const all = Object.fromEntries(Object.entries(wanted).map(([name, mode]) => [`deep/checkpoint-500${name}`, mode]));
  await restore(store.engine(), job({}));
  expect(await modes("out")).toMatchObject(all);
  await restore(store.engine(), job({}));
  expect(await modes("out")).toMatchObject(all);
  const some = { "deep/checkpoint-500": "750", "deep/checkpoint-500/deep": "511" };
  for (const [root, choice] of Object.entries({
    files: { files: given.files.slice(0, 1).map(({ path }) => path) },
    tensors: { tensors: ["a"] },
  })) {
    const targetPath = join(folder, root, "deep", "checkpoint-500");
    await restore(store.engine(), job({ targetPath, ...choice }));
    expect(await modes(root)).toMatchObject(some);
  }
});

test("a restore that was stopped in the middle and one that was stopped before the rename end with the same", async () => {
  const stop = new AbortController();
  const stopped = jobOf({ signal: stop.signal, onStart: stopOnceSure(stop, MIB / 2) });
  await expect(restore(store.engine({ connections: 1 }), stopped)).rejects.toMatchObject({ code: "CANCELLED" });
  // Its files have no modes yet: nobody else may read them.
  const [staging = ""] = (await readdir(join(folder, "out/deep"))).filter((name) => name.includes(".restoring-"));
  expect((await lstat(join(folder, "out/deep", staging))).mode & 0o777).toBe(0o700);
  await expect(restore(store.engine(), jobOf({ beforePlaced: stopAtEnd }))).rejects.toThrow("stopped");
  await restore(store.engine(), jobOf());
  expect(await attributesBelow(join(folder, "out"))).toEqual(ALL);
});

test("a second restore over files that may not be written gives the same to its own folder", async () => {
  await restore(store.engine(), jobOf());
  await restore(store.engine(), jobOf({ replaced: { isStored: async () => true } }));
  const { deep, ...rest } = await attributesBelow(join(folder, "out"));
  const { deep: made, ...wanted } = ALL;
  expect(rest).toEqual(wanted);
  // It was there before, and has changed since.
  expect(deep).not.toEqual(made);
});

test("a restore of chosen files, and one of chosen tensors, give what they write the same", async () => {
  const { command } = jobOf();
  const model = [
    "deep",
    "deep/checkpoint-500",
    "deep/checkpoint-500/deep",
    "deep/checkpoint-500/deep/model.safetensors",
  ];
  const some = Object.fromEntries(Object.entries(ALL).filter(([name]) => model.includes(name)));
  const files = manifest.files.slice(0, 1).map(({ path }) => path);
  for (const [root, choice] of Object.entries({ files: { files }, tensors: { tensors: ["a"] } })) {
    const targetPath = join(folder, root, "deep", "checkpoint-500");
    await mkdir(join(folder, "journals"), { recursive: true });
    await restore(store.engine(), jobOf({ command: { ...command, targetPath, ...choice } }));
    expect({ root, found: await attributesBelow(join(folder, root)) }).toEqual({ root, found: some });
  }
});
