import { chmod, chown, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { OTHER_USER, runAsOtherUser } from "../../testing/as-other-user.ts";

const isRoot = process.getuid?.() === 0;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-open-own-"));
  if (isRoot) await chown(folder, OTHER_USER, OTHER_USER);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Opens and writes as a user whom modes hold. Returns what comes of it. */
const writeAsUser = (path: string): string =>
  runAsOtherUser(`import { constants } from "node:fs";
    const { openOwn } = await import(${JSON.stringify(join(import.meta.dirname, "open-own.ts"))});
    try {
      const handle = await openOwn(${JSON.stringify(path)}, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW);
      await handle.write("x");
      console.log("written");
    } catch (error) { console.log(error.code); }`);

test.each([0o444, 0])("a file that has its final mode %i already is opened for writing again", async (mode) => {
  const path = join(folder, "model.bin");
  await writeFile(path, "a");
  if (isRoot) await chown(path, OTHER_USER, OTHER_USER);
  await chmod(path, mode);
  expect(writeAsUser(path)).toBe("written");
});

test("a link is not followed", async () => {
  await writeFile(join(folder, "outside"), "");
  await symlink(join(folder, "outside"), join(folder, "model.bin"));
  expect(writeAsUser(join(folder, "model.bin"))).toBe("ELOOP");
});
