import { lstat, lutimes, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockAt, lockFolder, readHolder } from "./lock.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-lock-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a second worker is refused while the first one lives", async () => {
  const unlock = await lockFolder(folder);
  await expect(lockFolder(folder)).rejects.toMatchObject({ code: "FOLDER_IN_USE" });
  await unlock();
  await (
    await lockFolder(folder)
  )();
});

test("the lock of a dead process does not hold anybody up", async () => {
  await writeFile(join(folder, "worker.lock"), "999999999 1");
  await (
    await lockFolder(folder)
  )();
});

test("of two that start at the same moment over a dead one's lock exactly one gets it", async () => {
  for (let round = 0; round < 20; round++) {
    await writeFile(join(folder, "worker.lock"), "999999999 1");
    const tries = await Promise.allSettled(Array.from({ length: 2 }, () => lockFolder(folder)));
    const got = tries.filter((one) => one.status === "fulfilled");
    expect(got).toHaveLength(1);
    for (const one of got) await one.value();
  }
  expect(await readdir(folder)).toEqual([]);
});

test("a process that got the dead one's number does not count as the holder", async () => {
  await writeFile(join(folder, "worker.lock"), `${process.pid} 1`);
  await (
    await lockFolder(folder)
  )();
});

test("a second process that does the same thing is told which one does it already", async () => {
  const path = join(folder, "copy.lock");
  const about = { code: "COPY_RUNNING", op: "cp", subject: "a -> b" } as const;
  const unlock = await lockAt(path, about);
  await expect(lockAt(path, about)).rejects.toThrow(
    `a -> b: The same copy is running already (by process ${process.pid})`,
  );
  await (
    await lockAt(join(folder, "other.lock"), about)
  )();
  await unlock();
  expect(await readdir(folder)).toEqual([]);
});

describe("a holder in another container, whose number means somebody else here", () => {
  const about = { code: "FOLDER_IN_USE", op: "start", subject: "state" } as const;
  const timing = { beatMs: 20, staleMs: 2_000 };
  // Our own number: alive here, which says nothing.
  const other = `${process.pid} 1 4026539999-0badb007`;
  let path: string;
  beforeEach(async () => {
    path = join(folder, "worker.lock");
    await symlink(other, path);
  });

  test("keeps its lock as long as it touches it, although nobody here has its number", async () => {
    const beat = setInterval(() => void lutimes(path, new Date(), new Date()).catch(() => undefined), timing.beatMs);
    try {
      await expect(lockAt(path, about, timing)).rejects.toMatchObject({ code: "FOLDER_IN_USE" });
    } finally {
      clearInterval(beat);
    }
    expect(await readHolder(folder)).toEqual({ pid: process.pid, isAlive: true });
  });

  test("loses it when it was not touched for long", async () => {
    const long = new Date(Date.now() - 60_000);
    await lutimes(path, long, long);
    expect(await readHolder(folder)).toMatchObject({ isAlive: false });
    const unlock = await lockAt(path, about);
    await unlock();
    expect(await readdir(folder)).toEqual([]);
  });

  test("and one that was killed a moment ago holds nobody up for longer than that", async () => {
    const unlock = await lockAt(path, about, { beatMs: 20, staleMs: 200 });
    expect(await readHolder(folder)).toMatchObject({ pid: process.pid, isAlive: true });
    await unlock();
  });
});

test("a lock is touched as long as it is held, and one that was taken away is left to its new holder", async () => {
  const path = join(folder, "copy.lock");
  const unlock = await lockAt(path, { code: "COPY_RUNNING", op: "cp", subject: "a" }, { beatMs: 10, staleMs: 1_000 });
  const first = (await lstat(path)).mtimeMs;
  while ((await lstat(path)).mtimeMs === first) await new Promise((resolve) => setTimeout(resolve, 5));
  await rm(path);
  await symlink("1 1 elsewhere", path);
  await unlock();
  expect(await readdir(folder)).toEqual(["copy.lock"]);
});
