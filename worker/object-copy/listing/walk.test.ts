import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { identityOf } from "#worker/base/file-identity.ts";
import { foundFile, walkFolder, type FoundFile } from "./walk.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "walk-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("files are told in the order of their paths, as they are", async () => {
  for (const name of ["b", "b-2/x", "b.txt", "a/z", "a/b/c", "a.d/e", "c0", "c/é", "c/日本"]) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    if (name !== "b") await writeFile(join(folder, name), name);
  }
  await mkdir(join(folder, "b"));
  await writeFile(join(folder, "b", "y"), "y");
  await symlink(join(folder, "b.txt"), join(folder, "link"));
  await symlink("nowhere", join(folder, "lost"));
  await utimes(join(folder, "c0"), 5, 7);
  const found: FoundFile[] = [];
  const { failures, ...rest } = await walkFolder(folder, (file) => void found.push(file));
  const names = found.map(({ relative }) => relative);
  expect(names).toEqual(["a.d/e", "a/b/c", "a/z", "b-2/x", "b.txt", "b/y", "c/é", "c/日本", "c0", "link"]);
  expect(names).toEqual(names.toSorted((a, b) => (a < b ? -1 : 1)));
  expect(failures.map(({ relative }) => relative)).toEqual(["lost"]);
  expect(rest).toEqual({ leftOut: [], unknown: new Set(["lost"]), empty: new Set() });
  const file = found.find(({ relative }) => relative === "c0");
  const path = join(folder, "c0");
  const stats = await stat(path, { bigint: true });
  expect(file).toEqual({
    relative: "c0",
    path,
    sizeBytes: 2,
    modifiedAtMs: 7_000,
    changedAtMs: Number(stats.ctimeNs / 1_000_000n),
    identity: identityOf(stats),
  });
});

test("what is no file is counted and named: linked folders, empty ones, pipes, sockets", async () => {
  const odd = await mkdtemp(join(tmpdir(), "odd-"));
  await mkdir(join(odd, "sub/none"), { recursive: true });
  await symlink(folder, join(odd, "linked"));
  await symlink(folder, join(odd, "sub/linked"));
  execFileSync("mkfifo", [join(odd, "pipe")]);
  const server = createServer().listen(join(odd, "socket"));
  await once(server, "listening");
  await symlink("/dev/null", join(odd, "null"));
  const told = await walkFolder(odd, () => undefined);
  server.close();
  expect(told).toEqual({
    failures: [],
    leftOut: [
      { kind: "linked-folder", count: 2, names: ["linked", "sub/linked"] },
      { kind: "device", count: 1, names: ["null"] },
      { kind: "pipe", count: 1, names: ["pipe"] },
      { kind: "socket", count: 1, names: ["socket"] },
      { kind: "empty-folder", count: 1, names: ["sub/none"] },
    ],
    unknown: new Set(["linked", "sub/linked", "sub/none"]),
    empty: new Set(["sub/none"]),
  });
  await rm(odd, { recursive: true });
});

test("a folder with very many names is told whole", async () => {
  const many = join(folder, "many");
  await mkdir(many);
  const names = Array.from({ length: 9_000 }, (_, index) => `f-${index}`);
  await Promise.all(names.map((name) => writeFile(join(many, name), "")));
  const found: string[] = [];
  expect((await walkFolder(many, ({ relative }) => void found.push(relative))).failures).toEqual([]);
  expect(found.toSorted()).toEqual(names.toSorted());
});

test("what goes wrong where files are told of is no fault of a file", async () => {
  const full = () => {
    throw new Error("the list is full");
  };
  await expect(walkFolder(folder, full)).rejects.toThrow("the list is full");
  await expect(walkFolder(join(folder, "many"), full)).rejects.toThrow("the list is full");
});

test("a folder that is gone is a fault", async () => {
  await expect(walkFolder(join(folder, "gone"), () => undefined)).rejects.toMatchObject({ code: "READ_FAILED" });
});

test("numbers as large as a file system has them are told exactly", () => {
  const [most, least] = [2n ** 64n - 1n, -(2n ** 62n)];
  const stats = { dev: most, ino: most - 1n, size: 2n ** 52n, mtimeNs: least, ctimeNs: least };
  const file = foundFile("/", "a/b", stats);
  expect(file.identity).toEqual(identityOf(stats));
  expect([file.path, file.sizeBytes]).toEqual(["/a/b", 2 ** 52]);
});
