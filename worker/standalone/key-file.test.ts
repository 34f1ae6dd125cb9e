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
