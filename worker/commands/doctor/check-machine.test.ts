import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkLock, checkOpenFiles, judgeNative, judgeRoom } from "./check-machine.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "tidemark-machine-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const limits = async (soft: string): Promise<string> => {
  const path = join(dir, "limits");
  await writeFile(
    path,
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 4096                 files\n`,
  );
  return path;
};

test("a low limit of open files is doubted with the way to raise it, a high one and none are fine", async () => {
  const low = await checkOpenFiles(await limits("256"));
  expect(low).toMatchObject({ outcome: "warn" });
  expect(low.fix).toContain("ulimit -n");
  expect(await checkOpenFiles(await limits("1024"))).toMatchObject({ outcome: "ok" });
  expect(await checkOpenFiles(await limits("unlimited"))).toMatchObject({ outcome: "ok" });
  expect(await checkOpenFiles(join(dir, "nowhere"))).toMatchObject({ outcome: "skipped" });
});

test("little room for captures is doubted", () => {
  expect(judgeRoom("/state", 200 * 1024 ** 2)).toMatchObject({ outcome: "warn" });
  expect(judgeRoom("/state", 200 * 1024 ** 2).fix).toContain("--state DIR");
  expect(judgeRoom("/state", 20 * 1024 ** 3)).toMatchObject({ outcome: "ok" });
});

test("a free lock, a held one and one left behind by a killed worker are told apart", async () => {
  expect((await checkLock(dir)).says).toContain("no worker");
  await writeFile(join(dir, "worker.lock"), `${process.pid} `);
  expect((await checkLock(dir)).says).toContain(`process ${process.pid}`);
  await writeFile(join(dir, "worker.lock"), "999999999 1");
  expect((await checkLock(dir)).says).toContain("left its lock behind");
});

test("a worker without its native module says what it does not learn, and which one has it", () => {
  expect(judgeNative(false)).toMatchObject({ outcome: "ok", says: expect.stringContaining("kept as doubtful") });
  expect(judgeNative(true).says).not.toContain("doubtful");
});
