import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeKeyFile, readKeyFile } from "./key-file.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-key-file-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a key in place of its file is refused, and not repeated", async () => {
  const path = join(folder, "key");
  await makeKeyFile(path);
  const key = (await readFile(path, "utf8")).trim();
  const refusal: unknown = await readKeyFile(key).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "BAD_INPUT" });
  expect(String(refusal)).toContain("it takes the path of a file");
  expect(String(refusal)).not.toContain(key.slice(20));
});

test("a key that was made is read again, and is not made twice", async () => {
  const path = join(folder, "key");
  const { keyId } = await makeKeyFile(path);
  const file = await readKeyFile(path);
  expect([...file.keys.keys()]).toEqual([keyId]);
  await expect(makeKeyFile(path)).rejects.toThrow("it is there already");
  expect(await readdir(folder)).toEqual(["key"]);
});

/** Runs `keygen` where files may have no content, as on a full disk. */
const keygenOnFullDisk = (path: string) =>
  spawnSync(
    "sh",
    ["-c", 'ulimit -f 0; exec "$0" "$@"', process.execPath, join(import.meta.dirname, "../main.ts"), "keygen", path],
    { encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } },
  );

test("on a full disk no file without a key is left, and the same command makes it when there is room", async () => {
  const path = join(folder, "key");
  const refused = keygenOnFullDisk(path);
  expect(refused.status).not.toBe(0);
  expect(refused.stderr).toContain(path);
  expect(await readdir(folder)).toEqual([]);
  await makeKeyFile(path);
  expect((await readKeyFile(path)).keys.size).toBe(1);
});
