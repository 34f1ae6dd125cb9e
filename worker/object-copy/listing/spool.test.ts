import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createScratchFile } from "./scratch-file.ts";
import { sortRows } from "./sort-rows.ts";
import { jsonForm, Spool } from "./spool.ts";

interface Row {
  name: string;
  size: number;
}
const form = jsonForm<Row, [string, number]>({
  nameOf: ({ name }) => name,
  pack: ({ name, size }) => [name, size],
  unpack: ([name, size]) => ({ name, size }),
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "spool-"));
});
afterAll(() => rm(folder, { recursive: true }));

const LONG = 20_011;
const row = (index: number): Row => ({ name: `\ud800 ${String(index).padStart(6, "0")} é\n`, size: index });
const rows = (count: number) => Array.from({ length: count }, (_, index) => row(index));
function spoolOf(all: readonly Row[], scratch = createScratchFile([folder])) {
  const spool = new Spool(form, scratch);
  for (const one of all) spool.add(one);
  return { spool, scratch };
}

test.each([0, 1, 4_095, 4_096, 4_097, 4_352, LONG])("%i rows are told as they came, in turn and anywhere", (count) => {
  const { spool, scratch } = spoolOf(rows(count));
  expect(spool.length).toBe(count);
  expect([...spool]).toEqual(rows(count));
  for (let index = count - 1; index >= 0; index -= 97) expect(spool.at(index)).toEqual(row(index));
  expect(spool.at(count)).toBeUndefined();
  expect(spool.at(count + 1_000)).toBeUndefined();
  scratch.close();
});

test("a long list lies in a file without a name, and of it nothing is kept but what was looked at last", async () => {
  const all = rows(LONG);
  const { spool, scratch } = spoolOf(all);
  expect(await readdir(folder)).toEqual([]);
  expect(spool.at(3)).not.toBe(all[3]);
  scratch.close();
  expect(() => spool.at(LONG - 1_000)).toThrow("closed");
  expect(spool.at(3)).toEqual(row(3));
});

test("where the disk takes nothing, all of it stays in memory", () => {
  const { spool } = spoolOf(rows(LONG), createScratchFile(["/proc/none"]));
  expect([...spool]).toEqual(rows(LONG));
  expect(spool.at(7_777)).toEqual(row(7_777));
});

test("it lies in the first folder that takes it, which is made, and is the caller's alone", async () => {
  const scratch = createScratchFile([
    "/proc/none",
    join(folder, "absent/below/that"),
    join(folder, "made/copies"),
    folder,
  ]);
  const { spool } = spoolOf(rows(LONG), scratch);
  expect((await stat(join(folder, "made/copies"))).mode & 0o777).toBe(0o700);
  await rm(join(folder, "made"), { recursive: true });
  expect([...spool]).toEqual(rows(LONG));
  scratch.close();
});

test("lists of one file do not get into each other's way", () => {
  const scratch = createScratchFile([folder]);
  const [one, other] = [new Spool(form, scratch), new Spool(form, scratch)];
  for (const each of rows(9_000)) {
    one.add(each);
    if (each.size % 2 === 0) other.add({ ...each, size: -each.size });
  }
  expect([...one]).toEqual(rows(9_000));
  expect([...other].map(({ size }) => size)).toEqual(
    rows(4_500)
      .map(({ size }) => (size === 0 ? -0 : -2 * size))
      .map((size) => size + 0),
  );
  scratch.close();
});

test.each([3, 5_000, 40_003])("%i rows in any order are put in order", (count) => {
  const shuffled = rows(count).map((one, index, all) => all[(index * 7_919) % count] ?? one);
  const { spool, scratch } = spoolOf(shuffled);
  expect(spool.isSorted).toBe(false);
  expect([...sortRows(spool, { form, scratch })].map(({ size }) => size)).toEqual(rows(count).map(({ size }) => size));
  scratch.close();
});

test("what is in order already is left as it is, names that come twice too", () => {
  const { spool, scratch } = spoolOf([row(0), row(1), row(1), row(2)]);
  expect(sortRows(spool, { form, scratch })).toBe(spool);
});
