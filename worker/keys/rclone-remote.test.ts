import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readRcloneStore } from "./rclone-remote.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-rclone-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each([
  ["crypt", /it is a crypt remote/],
  ["drive", /its type is drive, which does not speak S3/],
  ["constructor", /its type is constructor, which does not speak S3/],
])("a remote of type %s is refused with the reason", async (type, reason) => {
  const file = join(folder, "rclone.conf");
  await writeFile(file, `[other]\ntype = ${type}\n`);
  expect(() => readRcloneStore({ rcloneFiles: [file], rcloneVariables: new Map() }, "other")).toThrow(reason);
});
