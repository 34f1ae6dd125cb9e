import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openInputCache, type InputCache } from "./input-cache.ts";

const JOB = "6f9619ff-8b86-4d01-b42d-00c04fc964ff";
let folder: string;
let cache: InputCache;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-inputs-"));
  cache = openInputCache(folder, 100);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const object = (key: string, about: { etag?: string; sizeBytes?: number } = {}) => ({
  key,
  etag: '"a"',
  sizeBytes: 10,
  modifiedAt: 0,
  ...about,
});
/** Puts an object there as a fetch does; `usedAt`: seconds. */
async function land(key: string, { sizeBytes = 10, usedAt = 1_000 } = {}): Promise<string> {
  const path = cache.pathOf("profile", object(key, { sizeBytes }));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "x".repeat(sizeBytes));
  await cache.mark(path);
  await utimes(path, usedAt, (await stat(path)).mtimeMs / 1_000);
  return path;
}
const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

it("knows an object by its bucket, key, ETag and size, and nothing that was changed since", async () => {
  const path = await land("a");
  expect(await cache.has(path, 10)).toBe(true);
  expect(await cache.has(path, 11)).toBe(false);
  expect(await cache.has(cache.pathOf("other", object("a")), 10)).toBe(false);
  expect(await cache.has(cache.pathOf("profile", object("a", { etag: '"b"' })), 10)).toBe(false);
  await chmod(path, 0o644);
  await writeFile(path, "y".repeat(10));
  expect(await cache.has(path, 10)).toBe(false);
});

it("removes what was not used for the longest time, and nothing that a job here uses", async () => {
  const oldest = await land("oldest", { usedAt: 1_000, sizeBytes: 40 });
  const used = await land("used", { usedAt: 500, sizeBytes: 40 });
  const newest = await land("newest", { usedAt: 2_000, sizeBytes: 20 });
  await mkdir(join(folder, JOB));
  await cache.use(JOB, [used]);
  await cache.makeRoom(30);
  expect([await isThere(oldest), await isThere(used), await isThere(newest)]).toEqual([false, true, true]);
  await expect(cache.makeRoom(80)).rejects.toMatchObject({ code: "NO_SPACE" });
  await cache.leave(JOB);
  await cache.makeRoom(80);
  expect(await isThere(used)).toBe(false);
  expect(await readdir(join(folder, ".inputs/uses"))).toEqual([]);
});

it("a note of a job whose folder is gone holds nothing back, and a fetch that fits removes nothing", async () => {
  const path = await land("a", { sizeBytes: 60 });
  await cache.use(JOB, [path]);
  await cache.makeRoom(40);
  expect(await isThere(path)).toBe(true);
  await cache.makeRoom(41);
  expect(await isThere(path)).toBe(false);
});

it("removes nothing that a job of another slot uses, also the same job", async () => {
  const [one, other] = [openInputCache(folder, 25, "slot-1"), openInputCache(folder, 25, "slot-2")];
  const [first, second] = [await land("a"), await land("b")];
  for (const slot of ["slot-1", "slot-2"]) await mkdir(join(folder, slot, JOB), { recursive: true });
  await one.use(JOB, [first]);
  await other.use(JOB, [first]);
  await one.leave(JOB);
  await one.makeRoom(10);
  expect([await isThere(first), await isThere(second)]).toEqual([true, false]);
  await other.leave(JOB);
  await one.makeRoom(20);
  expect(await isThere(first)).toBe(false);
});
