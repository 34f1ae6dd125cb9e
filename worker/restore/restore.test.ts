import { mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { filePath } from "#protocol/base/names.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { lookAt } from "../capture/detection/look.ts";
import { mendPlaces, placesOf } from "./placement/put-in-place.ts";
import { clearRestore, restore } from "./restore.ts";
import type { RestoreJob } from "./restore-job.ts";
import { findImpossible } from "./placement/safe-place.ts";
import { manifestOf, restoreJobOf, STAGED_DATE_MS, stopOnceSure, storeFile } from "../testing/stage-stored.ts";

const MIB = 1024 * 1024;
let store: TrialStore;
let model: Buffer;
let manifest: Manifest;
let folder: string;
let target: string;

beforeAll(async () => {
  store = await openTrialStore();
  const key = "runs/llama/e000001/aaaaaaaaaaaa/model.safetensors";
  const stored = await storeFile(store, { key, sizeBytes: 6 * MIB, pieceBytes: 2 * MIB });
  model = stored.bytes;
  manifest = manifestOf(stored);
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-restore-"));
  target = join(folder, "out", "checkpoint-500");
});
afterEach(async () => {
  await store.disarm();
  await rm(folder, { recursive: true, force: true });
});
afterAll(() => store.close());

function jobOf(
  change: Partial<RestoreJob> & { given?: unknown; targetPath?: string; files?: string[] } = {},
): RestoreJob {
  const { given, targetPath, files, ...rest } = change;
  const job = restoreJobOf(manifest, { folder, target: targetPath ?? target, given: given ?? manifest });
  const chosen = files === undefined ? {} : { files: files.map((path) => filePath.parse(path)) };
  return { ...job, command: { ...job.command, ...chosen }, ...rest };
}

const below = async (path: string) => (await readdir(path, { recursive: true })).toSorted();

test("arrives complete, with its dates, and leaves nothing beside it", async () => {
  await restore(store.engine(), jobOf());
  expect((await readFile(join(target, "deep/model.safetensors"))).equals(model)).toBe(true);
  expect((await stat(join(target, "deep/model.safetensors"))).mtimeMs).toBe(STAGED_DATE_MS);
  // A program that looks for the newest folder goes by these.
  for (const path of [target, join(target, "deep")]) expect((await stat(path)).mtimeMs).toBe(STAGED_DATE_MS);
  expect((await stat(join(target, "empty.txt"))).size).toBe(0);
  expect(await readdir(join(folder, "out"))).toEqual(["checkpoint-500"]);
  expect(await readdir(join(folder, "journals"))).toEqual([]);
});

test("stopped in the middle nothing has the final name, and the next try fetches only what is missing", async () => {
  const stop = new AbortController();
  await store.arm({ op: "GetObject", attempt: 2, action: { kind: "stall", side: "response", afterBytes: 1_000 } });
  const slow = store.engine({ connections: 1 });
  const stopped = restore(slow, {
    ...jobOf({ signal: stop.signal }),
    onStart: stopOnceSure(stop, 2 * MIB),
  });
  await expect(stopped).rejects.toMatchObject({ code: "CANCELLED" });
  await expect(stat(target)).rejects.toMatchObject({ code: "ENOENT" });
  await store.disarm();

  const counters = await restore(store.engine(), jobOf());
  expect(counters.sentBytes).toBe(4 * MIB);
  expect((await readFile(join(target, "deep/model.safetensors"))).equals(model)).toBe(true);
});

test("a target below a file or a link to nowhere is refused by the name of what is in the way", async () => {
  await writeFile(join(folder, "file"), "");
  await symlink(join(folder, "nowhere"), join(folder, "link"));
  for (const [name, inTheWay] of Object.entries({
    "file/out/checkpoint-500": "file/out",
    "link/checkpoint-500": "link",
  }))
    await expect(restore(store.engine(), jobOf({ targetPath: join(folder, name) }))).rejects.toMatchObject({
      code: "FOLDER_UNWRITABLE",
      context: { subject: join(folder, inTheWay) },
    });
  expect((await readdir(folder)).toSorted()).toEqual(["file", "journals", "link"]);
});

test("an existing folder stays as it is until the new one is verified, and stays when it fails", async () => {
  await mkdir(target, { recursive: true });
  await writeFile(join(target, "old.txt"), "old");
  const damaged = structuredClone(manifest);
  const extent = damaged.files[0]?.extents[1];
  if (extent !== undefined) extent.crc32 = "00000000";
  const failing = jobOf({ given: damaged });
  await expect(restore(store.engine(), failing)).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
  await clearRestore(failing);
  expect(await below(join(folder, "out"))).toEqual(["checkpoint-500", "checkpoint-500/old.txt"]);

  await restore(store.engine(), jobOf());
  expect(await below(target)).toEqual(["deep", "deep/model.safetensors", "empty.txt"]);
  // Nothing says that it is in the bucket.
  expect(await below(join(folder, "out", ".set-aside-checkpoint-500"))).toEqual(["old.txt"]);
});

test("an existing folder is removed only when its content is in the bucket, and is kept otherwise", async () => {
  const stored = new Map<string, string>();
  const kept: string[] = [];
  const replaced = {
    isStored: async (path: string, fingerprint: string) => stored.get(path) === fingerprint,
    onKept: (place: string) => void kept.push(place),
  };
  const remember = async (staging: string, final: string) => {
    const look = await lookAt({ path: staging, kind: "folder" });
    stored.set(final, look?.fingerprint ?? "");
    return look?.fingerprint;
  };
  await restore(store.engine(), jobOf({ replaced, beforePlaced: remember }));
  await restore(store.engine(), jobOf({ replaced, beforePlaced: remember }));
  expect(await readdir(join(folder, "out"))).toEqual(["checkpoint-500"]);
  expect(kept).toEqual([]);

  await writeFile(join(target, "notes.txt"), "written since");
  await restore(store.engine(), jobOf({ replaced, beforePlaced: remember }));
  await rm(join(target, "empty.txt"));
  await restore(store.engine(), jobOf({ replaced, beforePlaced: remember }));
  const places = [".set-aside-checkpoint-500", ".set-aside-checkpoint-500.again-2"];
  expect(kept).toEqual(places.map((name) => join(folder, "out", name)));
  expect(await readFile(join(folder, "out", ".set-aside-checkpoint-500", "notes.txt"), "utf8")).toBe("written since");
  expect((await readdir(join(folder, "out"))).toSorted()).toEqual([...places, "checkpoint-500"]);
});

test("what a program writes to the old folder while the hub is asked keeps that folder", async () => {
  const stored: string[] = [];
  const beforePlaced = async (staging: string) => {
    const print = (await lookAt({ path: staging, kind: "folder" }))?.fingerprint;
    stored.push(print ?? "");
    return print;
  };
  await restore(store.engine(), jobOf({ beforePlaced }));
  const isStored = async (_path: string, fingerprint: string) => {
    const [aside = ""] = (await readdir(join(folder, "out"))).filter((name) => name.includes(".replaced-"));
    await writeFile(join(folder, "out", aside, "late.txt"), "of a file that was open");
    return stored.includes(fingerprint);
  };
  await restore(store.engine(), jobOf({ replaced: { isStored }, beforePlaced }));
  expect(await readFile(join(folder, "out", ".set-aside-checkpoint-500", "late.txt"), "utf8")).toContain("was open");
});

test("what is noted as stored is what was put there, also when a program writes at the target at once", async () => {
  let placed: string | undefined;
  let noted: string | undefined;
  await restore(
    store.engine(),
    jobOf({
      beforePlaced: async (staging) => (placed = (await lookAt({ path: staging, kind: "folder" }))?.fingerprint),
      afterPlaced: async (final, _layout, content) => {
        await writeFile(join(final, "next.txt"), "of the program");
        noted = content.fingerprint;
      },
    }),
  );
  expect(placed).toBeDefined();
  expect(noted).toBe(placed);
});

test("killed after the second rename, what was replaced is kept at the next start", async () => {
  const places = placesOf(target, "transfer-id-1");
  await mkdir(places.aside, { recursive: true });
  await writeFile(join(places.aside, "old.txt"), "old");
  await mkdir(target);
  await mendPlaces(places, {});
  expect((await readdir(join(folder, "out"))).toSorted()).toEqual([".set-aside-checkpoint-500", "checkpoint-500"]);
});

test("killed between the two renames the old folder is back even before the hub is", async () => {
  const places = placesOf(target, "transfer-id-1");
  await mkdir(places.aside, { recursive: true });
  await writeFile(join(places.aside, "old.txt"), "old");
  const stop = new AbortController();
  const readCheckpoint = () => {
    stop.abort();
    throw new Fault("HUB_UNREACHABLE");
  };
  const away = jobOf({ hub: createFakeHub({ readCheckpoint }), signal: stop.signal });
  await expect(restore(store.engine(), away)).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
  expect(await below(join(folder, "out"))).toEqual(["checkpoint-500", "checkpoint-500/old.txt"]);
});

test("a dangling link under the final name gives way to the folder, and is kept", async () => {
  await mkdir(join(folder, "out"));
  await symlink(join(folder, "nowhere"), target);
  await restore(store.engine(), jobOf());
  expect(await below(target)).toEqual(["deep", "deep/model.safetensors", "empty.txt"]);
  expect(await readlink(join(folder, "out", ".set-aside-checkpoint-500"))).toBe(join(folder, "nowhere"));
});

test("killed between the two renames the old folder comes back", async () => {
  const places = placesOf(target, "transfer-id-1");
  await mkdir(places.aside, { recursive: true });
  await writeFile(join(places.aside, "old.txt"), "old");
  await mendPlaces(places, {});
  expect(await below(join(folder, "out"))).toEqual(["checkpoint-500", "checkpoint-500/old.txt"]);
});

test("names that lead out of the folder are refused before a byte is fetched", async () => {
  for (const path of ["../escape", "/etc/passwd", "a/../../b", "a\u0001b"]) {
    const hostile = { ...manifest, files: [{ ...manifest.files[1], path }], sizeBytes: 0 };
    await expect(restore(store.engine(), jobOf({ given: hostile }))).rejects.toMatchObject({ code: "HOSTILE_NAME" });
  }
  await expect(restore(store.engine(), jobOf({ targetPath: "/" }))).rejects.toMatchObject({ code: "HOSTILE_NAME" });
  await expect(restore(store.engine(), jobOf({ targetPath: `${folder}/../x` }))).rejects.toMatchObject({
    code: "HOSTILE_NAME",
  });
});

test("names that differ in case alone, or that the disk refuses, are found where the disk says so, and it is asked for no others", async () => {
  const nobody = () => Promise.reject(new Error("nobody asks"));
  const names = ["README", "readme", "sub/a", "SUB", "a:b"];
  expect(await findImpossible(folder, names)).toEqual([]);
  const disk = {
    foldsOn: () => Promise.resolve(true),
    refuses: (_: string, name: string) => Promise.resolve(name === "a:b"),
  };
  expect((await findImpossible(folder, [...names, "x/a:b/y"], disk)).map(({ path }) => path)).toEqual([
    "a:b",
    "x/a:b/y",
    "readme",
  ]);
  expect(await findImpossible(folder, ["a", "b"], { foldsOn: nobody, refuses: nobody })).toEqual([]);
  expect(await readdir(folder)).not.toContainEqual(expect.stringContaining(".names."));
});

test("a name that the disk cannot hold is left out and named where a person asked for it, and refuses all of it else", async () => {
  const [file] = manifest.files;
  const name = file?.path ?? "";
  const leftOut: string[] = [];
  const disk = { foldsOn: () => Promise.resolve(false), refuses: () => Promise.resolve(true) };
  const odd = { ...manifest, files: manifest.files.map((one) => (one === file ? { ...one, path: `${name}:b` } : one)) };
  const job = { ...jobOf({ given: odd }), disk };
  await expect(restore(store.engine(), job)).rejects.toMatchObject({ code: "HOSTILE_NAME" });
  const asked = {
    ...job,
    command: { ...job.command, mayLeaveOut: true as const },
    onLeftOut: (files: readonly { path: string }[]) => leftOut.push(...files.map(({ path }) => path)),
  };
  await restore(store.engine(), asked);
  expect(leftOut).toEqual([`${name}:b`]);
});

test("too little room is said before anything is written", async () => {
  const [file] = manifest.files;
  const sizeBytes = 2 ** 50;
  const extents = file?.extents.slice(0, 1).map((extent) => ({ ...extent, length: sizeBytes }));
  const huge = { ...manifest, sizeBytes, files: [{ ...file, sizeBytes, extents }] };
  await expect(restore(store.engine(), jobOf({ given: huge }))).rejects.toMatchObject({ code: "NO_SPACE" });
  expect(await readdir(join(folder, "out"))).toEqual([]);
});

test("what is about to get its name is known before it has it", async () => {
  let wasThere: boolean | null = null;
  const beforePlaced = async (staging: string, final: string) => {
    expect(await below(staging)).toEqual(["deep", "deep/model.safetensors", "empty.txt"]);
    wasThere = await stat(final).then(
      () => true,
      () => false,
    );
    return undefined;
  };
  await restore(store.engine(), jobOf({ beforePlaced }));
  expect(wasThere).toBe(false);
});

test("of the files that were chosen nothing else is fetched, and a name that is not there is refused", async () => {
  const counters = await restore(store.engine(), jobOf({ files: ["empty.txt"] }));
  expect(counters.sentBytes).toBe(0);
  expect(await below(target)).toEqual(["empty.txt"]);
  await expect(restore(store.engine(), jobOf({ files: ["other.txt"] }))).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("files that were chosen never replace a folder that holds something else", async () => {
  await mkdir(target, { recursive: true });
  await writeFile(join(target, "old.txt"), "old");
  const wanted = restore(store.engine(), jobOf({ files: ["empty.txt"] }));
  await expect(wanted).rejects.toMatchObject({ code: "TARGET_EXISTS" });
  expect(await below(target)).toEqual(["old.txt"]);
});

test("says which file is damaged, and asks first whether it may go there", async () => {
  const damaged = structuredClone(manifest);
  const extent = damaged.files[0]?.extents[1];
  if (extent !== undefined) extent.crc32 = "00000000";
  const found: DamageReport[] = [];
  const failing = restore(store.engine(), jobOf({ given: damaged, onDamage: (report) => found.push(report) }));
  await expect(failing).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
  expect(found).toMatchObject([
    { ranges: [{ path: "deep/model.safetensors", from: 0, to: model.length - 1 }], more: 0 },
  ]);
  const assertMayPlace = async () => {
    throw new Fault("PLACE_REFUSED");
  };
  await expect(restore(store.engine(), jobOf({ assertMayPlace }))).rejects.toMatchObject({ code: "PLACE_REFUSED" });
});
