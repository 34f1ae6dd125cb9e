import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockAt, lockFolder } from "./lock.ts";

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
