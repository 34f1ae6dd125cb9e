import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Places } from "./placement/assert-place.ts";
import { folderApart } from "./folder-apart.ts";

let folder: string;
let places: Places;
const at = (...names: string[]) => join(folder, ...names);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-apart-"));
  await mkdir(at("work", "checkpoints"), { recursive: true });
  await mkdir(at("cwd"));
  places = {
    watches: [at("work", "checkpoints")],
    state: at("state"),
    allowed: [],
    restored: at("cwd", "restored"),
    home: at("home"),
  };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("restores go beside the watched folder, which is on its disk", async () => {
  expect(await folderApart(places)).toBe(at("work", "restored"));
});

test("where nothing is allowed beside it they go to ./restored", async () => {
  expect(await folderApart({ ...places, home: at("work") })).toBe(at("cwd", "restored"));
});

test("a folder that is watched itself, or leads into a watched one, is passed over", async () => {
  expect(await folderApart({ ...places, watches: [...places.watches, at("work", "restored")] })).toBe(
    at("cwd", "restored"),
  );
  await symlink(at("work", "checkpoints"), at("work", "restored"));
  expect(await folderApart(places)).toBe(at("cwd", "restored"));
});

test("of the folders that the owner named, the first one outside of watched folders", async () => {
  const allowed = [at("work", "checkpoints", "in"), at("named")];
  expect(await folderApart({ ...places, allowed })).toBe(at("named"));
  expect(await folderApart({ ...places, allowed: [at("work", "checkpoints")] })).toBeNull();
});

test("a place below something that is no folder cannot be written", async () => {
  await writeFile(at("file"), "x");
  expect(await folderApart({ ...places, allowed: [at("file", "x")] })).toBeNull();
});
