import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openAlone, openBeside, openDatabase } from "../open.ts";
import { fillTables } from "../testing/made-rows.ts";
import { createFilePlace, fillFile, readFileMark } from "./file-place.ts";
import { moveDatabase } from "./move-database.ts";
import type { Place } from "./place.ts";
import { checksumTables, type TableChecksum } from "./rows.ts";
import { presentTables, type Table } from "./tables.ts";

let tables: Table[];
let root: string;
let from: Place;
let to: Place;
let before: TableChecksum[];
beforeAll(async () => {
  tables = await presentTables();
});
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "tidemark-move-"));
  from = createFilePlace(join(root, "old"), "hub.db");
  to = createFilePlace(join(root, "new"), "hub.db");
  await mkdir(join(root, "old"));
  await fillFile(join(root, "old/hub.db"), (target) => fillTables(target, tables, 5), null);
  before = await contentOf(from);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const NOW = Date.UTC(2026, 10, 30, 12);
const contentOf = (place: Place): Promise<TableChecksum[]> => place.read((source) => checksumTables(source, tables));
const move = (a = from, b = to) =>
  moveDatabase({ from: a, to: b, now: NOW, prepare: () => Promise.resolve(), keepAs: join(b.folder ?? "", "kept.db") });
const opensAsHub = async ({ name }: Place): Promise<string> => {
  try {
    await (await openDatabase(`file:${name}`, { inThisThread: true })).close();
    return "opens";
  } catch (error) {
    return String(error);
  }
};

describe("a move", () => {
  test("takes every row along; the old side refuses every way in and says where the data is", async () => {
    expect(await move()).toMatchObject({ to: to.name, tables: before, keptAt: null });
    expect(await contentOf(to)).toEqual(before);
    expect(await opensAsHub(to)).toBe("opens");
    const refused = {
      code: "DATABASE_MOVED",
      message: expect.stringContaining(`moved to ${to.name} at 2026-11-30T12:00:00.000Z`) as string,
    };
    await expect(openDatabase(`file:${from.name}`, { inThisThread: true })).rejects.toMatchObject(refused);
    await expect(openBeside(from.name)).rejects.toMatchObject(refused);
    await expect(openAlone(from.name)).rejects.toMatchObject(refused);
    await expect(move()).rejects.toMatchObject(refused);
    expect(await contentOf(from)).toEqual(before);
  });

  test("goes back: the older data that lies there is kept under another name, and only that of this hub is replaced", async () => {
    await move();
    const back = await move(to, from);
    expect(back.keptAt).toBe(join(root, "old/kept.db"));
    expect(back.tables).toEqual(before);
    expect([await opensAsHub(from), await contentOf(from)]).toEqual(["opens", before]);
    expect(await readFileMark(join(root, "old/kept.db"))).toMatchObject({ state: "moved", place: to.name });
    expect(await opensAsHub(to)).toContain(`moved to ${from.name}`);
    // And there again.
    expect((await move()).tables).toEqual(before);

    const stranger = createFilePlace(join(root, "other"), "hub.db");
    await mkdir(join(root, "other"));
    await fillFile(stranger.name, (target) => fillTables(target, tables, 2), null);
    await expect(move(stranger, from)).rejects.toMatchObject({ code: "BAD_INPUT" });
    await expect(move(to, stranger)).rejects.toMatchObject({
      code: "BAD_INPUT",
      message: expect.stringContaining(`${stranger.name} holds the data of a hub already`) as string,
    });
    expect(await readFileMark(stranger.name)).toBeNull();
  });

  test("changes nothing where there is no database, or where the old one cannot be prepared", async () => {
    const nowhere = createFilePlace(join(root, "nowhere"), "hub.db");
    await expect(move(nowhere, to)).rejects.toMatchObject({ code: "NOT_FOUND" });
    const prepare = () => Promise.reject(new Error("the master key does not fit"));
    await expect(moveDatabase({ from, to, now: NOW, prepare, keepAs: "" })).rejects.toThrow("does not fit");
    expect([await opensAsHub(from), await to.exists()]).toEqual(["opens", false]);
  });

  test("takes an empty database, and removes what a killed move left of its file", async () => {
    await mkdir(join(root, "new"));
    await (await openDatabase(`file:${to.name}`, { inThisThread: true })).close();
    await writeFile(join(root, "new/.hub.db.12345678.unfinished"), "part of a copy");
    await writeFile(join(root, "new/.hub.db.12345678.unfinished-wal"), "part of a copy");
    await move();
    expect(await readdir(join(root, "new"))).toEqual(["hub.db"]);
  });
});

describe("an interrupted move", () => {
  /** Ends the move before or after the given call to one of the two databases, as a killed process does. */
  const interrupting = (place: Place, stop: (call: string) => void): Place => ({
    ...place,
    writeMark: async (mark) => {
      stop(`before ${mark.state}`);
      await place.writeMark(mark);
      stop(`after ${mark.state}`);
    },
    replace: async (options) => {
      stop("before the copy");
      const result = await place.replace({
        ...options,
        fill: async (target) => {
          const filled = await options.fill(target);
          stop("in the copy");
          return filled;
        },
      });
      stop("after the copy");
      return result;
    },
  });

  const MOMENTS = [
    "before the copy",
    "in the copy",
    "after the copy",
    "before moved",
    "after moved",
    "before arrived",
    "after arrived",
  ];

  test.each(MOMENTS)("%s: never two databases that start, and the same command completes it", async (moment) => {
    const stop = (call: string) => {
      if (call === moment) throw new Error("killed");
    };
    await expect(move(interrupting(from, stop), interrupting(to, stop))).rejects.toThrow("killed");
    const isArrived = moment === "after arrived";
    const databases = (await to.exists()) ? [from, to] : [from];
    const starting = (await Promise.all(databases.map(opensAsHub))).filter((said) => said === "opens");
    const between = moment === "after moved" || moment === "before arrived";
    expect(starting).toHaveLength(between ? 0 : 1);
    if (between) expect(await opensAsHub(to)).toContain("has not ended: run `npm run hub -- move` again");
    if (isArrived) return;
    expect(await move()).toMatchObject({ from: from.name, to: to.name });
    expect([await opensAsHub(to), await contentOf(to)]).toEqual(["opens", before]);
    expect(await opensAsHub(from)).toContain("moved to");
  });
});
