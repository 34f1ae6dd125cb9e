import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { filePath } from "#protocol/names.ts";
import { assertFree } from "./assert-free.ts";
import { assertPlace, type Places } from "./assert-place.ts";

let folder: string;
let places: Places;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-places-"));
  await mkdir(join(folder, "work", "checkpoints"), { recursive: true });
  await mkdir(join(folder, "state"));
  places = { watches: [join(folder, "work", "checkpoints")], state: join(folder, "state"), allowed: [] };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const refused = { code: "PLACE_REFUSED" };
const at = (...names: string[]) => join(folder, ...names);

describe("where a hub may have something put", () => {
  test("is inside of a watched folder, and anywhere else that does no harm", async () => {
    await assertPlace(at("work", "checkpoints", "checkpoint-5"), places);
    await assertPlace(at("elsewhere", "deep", "checkpoint-5"), places);
  });

  test("is never a watched folder itself, nor one around it", async () => {
    for (const path of [at("work", "checkpoints"), at("work"), folder]) {
      await expect(assertPlace(path, places)).rejects.toMatchObject(refused);
    }
  });

  test("is never where the worker keeps its queue, nor around or inside it", async () => {
    for (const path of [at("state"), at("state", "drills", "x"), folder]) {
      await expect(assertPlace(path, places)).rejects.toMatchObject(refused);
    }
  });

  test("is never a place of the system, nor one that a link leads to", async () => {
    await symlink("/etc", at("innocent"));
    await symlink(at("state"), at("also-innocent"));
    for (const path of ["/etc/cron.d", "/usr/bin", "/proc/self", at("innocent", "cron.d"), at("also-innocent", "x")]) {
      await expect(assertPlace(path, places)).rejects.toMatchObject(refused);
    }
  });

  test("is only inside of the folders that the node's owner named, where some are named", async () => {
    const named = { ...places, allowed: [at("work")] };
    await assertPlace(at("work", "checkpoints", "checkpoint-5"), named);
    await symlink(folder, at("work", "out"));
    for (const path of [at("elsewhere", "x"), at("work-too", "x"), at("work", "out", "x")]) {
      await expect(assertPlace(path, named)).rejects.toMatchObject(refused);
    }
  });
});

describe("a part of a checkpoint", () => {
  const files = ["deep/a.bin", "b.bin"].map((path) => ({ path: filePath.parse(path) }));

  test("may go where nothing is, and where only itself is", async () => {
    await assertFree(at("new"), files);
    await mkdir(at("again", "deep"), { recursive: true });
    await assertFree(at("again"), files);
    await writeFile(at("again", "deep", "a.bin"), "a");
    await assertFree(at("again"), files);
  });

  test("does not take the place of anything else", async () => {
    await mkdir(at("old"));
    await writeFile(at("old", "model.bin"), "m");
    await expect(assertFree(at("old"), files)).rejects.toMatchObject({ code: "TARGET_EXISTS" });
    await expect(assertFree(at("old", "model.bin"), files)).rejects.toMatchObject({ code: "TARGET_EXISTS" });
  });
});
