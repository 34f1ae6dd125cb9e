import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { removeLeft, takeToken, withoutToken } from "./hide-token.ts";

test.each([
  [["run", "--token", "abc", "--watch", "/w", "--", "train", "--token", "theirs"], "abc"],
  [["run", "--watch", "/w", "--token=abc", "--", "train", "--token", "theirs"], "abc"],
  [["run", "--watch", "/w", "--", "train", "--token", "theirs"], null],
])("of %j the program's own arguments stay", (args, token) => {
  const found = withoutToken(args);
  expect(found.token).toBe(token);
  expect(found.args).toEqual(["run", "--watch", "/w", "--", "train", "--token", "theirs"]);
});

test("a token that was passed on is read once, and its file is gone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-join-"));
  const path = join(folder, "token");
  await writeFile(path, "abc");
  const env = { PATH: "/bin", TIDEMARK_TOKEN_PASSED: path };
  expect(takeToken(env)).toEqual({ PATH: "/bin", TIDEMARK_TOKEN: "abc" });
  expect(existsSync(dirname(path))).toBe(false);
  expect(takeToken(env)).toEqual({ PATH: "/bin" });
  await rm(folder, { recursive: true, force: true });
});

test("what a start that was killed has left is removed by a later one, and what belongs to a present one stays", async () => {
  const parent = await mkdtemp(join(tmpdir(), "tidemark-left-"));
  for (const name of ["tidemark-join-old", "tidemark-join-new", "other"]) {
    await mkdir(join(parent, name));
    await writeFile(join(parent, name, "token"), "abc");
  }
  const before = Date.now() / 1000 - 120;
  for (const name of ["tidemark-join-old", "other"]) await utimes(join(parent, name), before, before);
  removeLeft(parent);
  expect((await readdir(parent)).toSorted()).toEqual(["other", "tidemark-join-new"]);
  await rm(parent, { recursive: true, force: true });
});
