import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileUrl, pathOfUrl } from "./file-url.ts";
import { lockFolder } from "./lock-folder.ts";
import { openBeside, openDatabase } from "./open.ts";
import { openFile } from "./snapshot.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-url-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each(["with space", "per%20cent%", "ha#sh", "quest?ion=1&mode=memory", "back\\slash", "\u00fcn\u00ef", "%23%3f"])(
  "a database lies in the folder %s, whatever its name means in a URL",
  async (name) => {
    const path = join(folder, name, "hub.db");
    expect(pathOfUrl(fileUrl(path))).toBe(path);
    await mkdir(join(folder, name));
    await (await openDatabase(fileUrl(path))).close();
    await (await openBeside(path)).close();
    (await openFile(path)).close();
    const unlock = await lockFolder(join(folder, name, "hub.lock"), 1_000);
    await unlock?.();
    expect(await readdir(folder)).toEqual([name]);
    expect(await readdir(join(folder, name))).toEqual(expect.arrayContaining(["hub.db", "hub.lock"]));
  },
);
