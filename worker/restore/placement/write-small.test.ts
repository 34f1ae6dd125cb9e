import { lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { syncFiles } from "./sync-files.ts";
import { writeSmall } from "./write-small.ts";

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "small-")), ".checkpoint-5.restoring-00ff");
  await mkdir(folder);
});
afterEach(() => rm(join(folder, ".."), { recursive: true, force: true }));

const MTIME_MS = 1_700_000_000_000;
const files = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    place: join(folder, String(index)),
    bytes: Buffer.from(`file ${index}`),
    mtimeMs: MTIME_MS,
  }));

test("hundreds of files are written with their dates, and can be flushed together", async () => {
  const many = files(300);
  await writeSmall(many);
  await syncFiles(
    folder,
    many.map(({ place }) => place),
  );
  for (const { place, bytes } of many) {
    expect((await readFile(place)).equals(bytes)).toBe(true);
    expect((await stat(place)).mtimeMs).toBe(MTIME_MS);
  }
});

test("what stands in the place is replaced and never written through", async () => {
  const outside = join(folder, "outside");
  await writeFile(outside, "untouched");
  await symlink(outside, join(folder, "0"));
  await writeFile(join(folder, "1"), "what a kill left of an earlier, longer file");
  await writeSmall(files(2));
  expect(await readFile(outside, "utf8")).toBe("untouched");
  expect((await lstat(join(folder, "0"))).isSymbolicLink()).toBe(false);
  expect(await readFile(join(folder, "1"), "utf8")).toBe("file 1");
});

test("a file that cannot be flushed is said", async () => {
  await expect(syncFiles(folder, [join(folder, "none")])).rejects.toMatchObject({ code: "WRITE_FAILED" });
});
