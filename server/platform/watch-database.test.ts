import { rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { folderForTests } from "#storage/testing/spawn-store.ts";
import { createDatabaseWatch } from "./watch-database.ts";
import type { DatabaseRoom } from "./counters.ts";

let folder: string;
beforeAll(async () => {
  folder = await folderForTests("tidemark-watch-");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a log that is not folded in is said once, and once when it is short again", async () => {
  const lines: string[] = [];
  const keep = (_: unknown, line: string) => void lines.push(line);
  const counters: { database: DatabaseRoom | null } = { database: null };
  const look = createDatabaseWatch({ dataFolder: folder, counters, log: { warn: keep, info: keep } as never });
  const file = join(folder, "hub.db-wal");
  await writeFile(file, "");
  await look();
  expect(counters.database?.logBytes).toBe(0);
  expect(counters.database?.freeBytes).toBeGreaterThan(0);
  const before = lines.length;
  // A hole of this length: no bytes are written.
  await truncate(file, 300 * 1024 ** 2);
  await look();
  await look();
  expect(counters.database?.logBytes).toBe(300 * 1024 ** 2);
  expect(lines.slice(before)).toEqual(["the database's log is long"]);
  await truncate(file, 1024);
  await look();
  expect(lines.slice(before)).toEqual(["the database's log is long", "the database's log is short again"]);
});
