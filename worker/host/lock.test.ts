import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockFolder } from "./lock.ts";

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

test("a process that got the dead one's number does not count as the holder", async () => {
  await writeFile(join(folder, "worker.lock"), `${process.pid} 1`);
  await (
    await lockFolder(folder)
  )();
});
