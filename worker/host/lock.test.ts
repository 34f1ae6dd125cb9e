import { lstat, lutimes, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockAt, lockFolder, namespaceOf, readHolder } from "./lock.ts";

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

const aboutStart = { code: "FOLDER_IN_USE", op: "start", subject: "state" } as const;
const shiftedBy = (ms: number) => new Date(Date.now() + ms);

describe("a holder in another container of this machine, whose number means somebody else here", () => {
  const timing = { heartbeatMs: 20, staleMs: 2_000 };
  let path: string;
  beforeEach(async () => {
    path = join(folder, "worker.lock");
    // Our own number: alive here, which says nothing.
    const boot = (await namespaceOf()).split("-")[1];
    await symlink(`${process.pid} 1 4026539999-${boot}`, path);
  });

  test("keeps its lock as long as it touches it, although nobody here has its number", async () => {
    const heartbeat = setInterval(
      () => void lutimes(path, new Date(), new Date()).catch(() => undefined),
      timing.heartbeatMs,
    );
    try {
      await expect(lockAt(path, aboutStart, timing)).rejects.toMatchObject({ code: "FOLDER_IN_USE" });
    } finally {
      clearInterval(heartbeat);
    }
    expect(await readHolder(folder)).toEqual({ pid: process.pid, isAlive: true });
  });

  test("loses it at once when it was not touched for long", async () => {
    const patient = { heartbeatMs: 3_000, staleMs: 300_000 };
    await lutimes(path, shiftedBy(-600_000), shiftedBy(-600_000));
    expect(await readHolder(folder)).toMatchObject({ isAlive: false });
    const startedAt = performance.now();
    const unlock = await lockAt(path, aboutStart, patient);
    expect(performance.now() - startedAt).toBeLessThan(patient.staleMs);
    await unlock();
    expect(await readdir(folder)).toEqual([]);
  });

  test("and one that was killed a moment ago holds nobody up for longer than that", async () => {
    const unlock = await lockAt(path, aboutStart, { heartbeatMs: 20, staleMs: 200 });
    expect(await readHolder(folder)).toMatchObject({ pid: process.pid, isAlive: true });
    await unlock();
  });
});

describe("a holder on another machine, whose clock is not ours", () => {
  const timing = { heartbeatMs: 20, staleMs: 300, briefMs: 100 };
  let path: string;
  beforeEach(async () => {
    path = join(folder, "worker.lock");
    await symlink(`${process.pid} 1 4026539999-0badb007`, path);
  });

  test.each([
    ["an hour behind", -3_600_000],
    ["an hour ahead", 3_600_000],
  ])("keeps its lock while it touches it with a clock that is %s", async (_, skewMs) => {
    const touch = () => lutimes(path, shiftedBy(skewMs), shiftedBy(skewMs));
    await touch();
    const heartbeat = setInterval(() => void touch().catch(() => undefined), timing.heartbeatMs);
    try {
      expect(await readHolder(folder, { ...timing, briefMs: 60_000 })).toMatchObject({ isAlive: true });
      const patient = { ...timing, staleMs: 60_000 };
      await expect(lockAt(path, aboutStart, patient)).rejects.toMatchObject({ code: "FOLDER_IN_USE" });
    } finally {
      clearInterval(heartbeat);
    }
  });

  test.each([
    ["behind", -3_600_000],
    ["ahead", 3_600_000],
  ])("that was killed loses its lock once we saw no touch for long enough, its clock being %s", async (_, skewMs) => {
    await lutimes(path, shiftedBy(skewMs), shiftedBy(skewMs));
    expect(await readHolder(folder, timing)).toMatchObject({ isAlive: false });
    const startedAt = performance.now();
    const unlock = await lockAt(path, aboutStart, timing);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(timing.staleMs);
    await unlock();
    expect(await readdir(folder)).toEqual([]);
  });

  test("that releases its lock meanwhile does not keep us out", async () => {
    const unlocking = setTimeout(() => void rm(path), 50);
    const unlock = await lockAt(path, aboutStart, { ...timing, staleMs: 60_000 });
    clearTimeout(unlocking);
    await unlock();
  });
});

test("a lock is touched as long as it is held, and one that was taken away is left to its new holder", async () => {
  const path = join(folder, "copy.lock");
  const unlock = await lockAt(
    path,
    { code: "COPY_RUNNING", op: "cp", subject: "a" },
    { heartbeatMs: 10, staleMs: 1_000 },
  );
  const first = (await lstat(path)).mtimeMs;
  while ((await lstat(path)).mtimeMs === first) await new Promise((resolve) => setTimeout(resolve, 5));
  await rm(path);
  await symlink("1 1 elsewhere", path);
  await unlock();
  expect(await readdir(folder)).toEqual(["copy.lock"]);
});
