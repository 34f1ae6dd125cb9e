import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { filePath } from "#protocol/base/names.ts";
import { assertTargetUnused } from "./placement/assert-target-unused.ts";
import { assertPlace, type Places } from "./placement/assert-place.ts";

let folder: string;
let places: Places;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-places-"));
  await mkdir(join(folder, "work", "checkpoints"), { recursive: true });
  await mkdir(join(folder, "state"));
  places = {
    watches: [join(folder, "work", "checkpoints")],
    state: join(folder, "state"),
    allowed: [],
    restored: join(folder, "cwd", "restored"),
    home: join(folder, "home"),
  };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const refused = { code: "PLACE_REFUSED" };
const at = (...names: string[]) => join(folder, ...names);

describe("where a hub may have something put", () => {
  test("is inside of a watched folder, in a folder beside it, and in ./restored", async () => {
    await assertPlace(at("work", "checkpoints", "checkpoint-5"), places);
    await assertPlace(at("work", "eval", "checkpoint-5"), places);
    await assertPlace(at("cwd", "restored", "checkpoint-5"), places);
  });

  test("is nowhere else without the flag: not in homes, not among keys, not in cron's folders", async () => {
    await mkdir(at("home"));
    await symlink(at("home"), at("work", "link"));
    for (const path of [
      at("elsewhere", "checkpoint-5"),
      at("cwd", "checkpoint-5"),
      at("cwd", "restored"),
      at("home", ".ssh", "authorized_keys"),
      at("work", ".ssh"),
      at("work", "eval", ".config", "autostart"),
      at("work", "link", "x"),
      "/root/x",
      "/home/somebody/.ssh/authorized_keys",
      "/var/spool/cron/crontabs",
    ]) {
      await expect(assertPlace(path, places), path).rejects.toMatchObject(refused);
    }
  });

  test("beside a folder that lies straight in a home, or in /, is nothing", async () => {
    await mkdir(at("home", "checkpoints"), { recursive: true });
    const inHome = { ...places, watches: [at("home", "checkpoints")] };
    await assertPlace(at("home", "checkpoints", "checkpoint-5"), inHome);
    await expect(assertPlace(at("home", "bin", "x"), inHome)).rejects.toMatchObject(refused);
    for (const watch of ["/checkpoints", "/home/somebody/checkpoints", "/var/checkpoints", "/root/checkpoints"]) {
      const straight = { ...places, watches: [watch] };
      await assertPlace(`${watch}/checkpoint-5`, straight);
      await expect(assertPlace(join(watch, "..", "other", "x"), straight), watch).rejects.toMatchObject(refused);
    }
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
    await assertTargetUnused(at("new"), files);
    await mkdir(at("again", "deep"), { recursive: true });
    await assertTargetUnused(at("again"), files);
    await writeFile(at("again", "deep", "a.bin"), "a");
    await assertTargetUnused(at("again"), files);
  });

  test("does not take the place of anything else", async () => {
    await mkdir(at("old"));
    await writeFile(at("old", "model.bin"), "m");
    await expect(assertTargetUnused(at("old"), files)).rejects.toMatchObject({ code: "TARGET_EXISTS" });
    await expect(assertTargetUnused(at("old", "model.bin"), files)).rejects.toMatchObject({ code: "TARGET_EXISTS" });
  });
});
