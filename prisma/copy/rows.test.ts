import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fillTables, madeRows } from "../testing/made-rows.ts";
import { fillFile } from "./file-place.ts";
import { checksumTables, copyRows, rowsAtOnce, TableHasher, type Row, type RowSource, type RowTarget } from "./rows.ts";
import { openForRows, readSqliteRows } from "./sqlite-rows.ts";
import { presentTables, type Table } from "./tables.ts";

let tables: Table[];
let folder: string;
beforeAll(async () => {
  tables = await presentTables();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-rows-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const named = (name: string): Table => {
  const found = tables.find((table) => table.name === name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return found;
};
const hashOf = (rows: readonly Row[]): string => {
  const hasher = new TableHasher();
  hasher.add(rows);
  return hasher.result("T").hash;
};
const make = (name: string, fill: (target: RowTarget) => Promise<unknown>) => fillFile(join(folder, name), fill, null);
async function read<T>(name: string, work: (source: RowSource) => Promise<T>): Promise<T> {
  const client = await openForRows(join(folder, name));
  try {
    return await work(readSqliteRows(client));
  } finally {
    client.close();
  }
}
async function rowsOf(source: RowSource, table: Table): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const some of source.read(table)) rows.push(...some);
  return rows;
}

describe("the hash of a table", () => {
  const rows = madeRows(
    {
      name: "T",
      refersTo: [],
      number: null,
      columns: [
        { name: "a", kind: "text" },
        { name: "b", kind: "real" },
      ],
    },
    3,
  );

  test("is the same in any order and in any parts, and another one for another cell, a missing and a doubled row", () => {
    const [first = [], ...others] = rows;
    const whole = hashOf(rows);
    expect(hashOf(rows.toReversed())).toBe(whole);
    const parts = new TableHasher();
    for (const row of rows) parts.add([row]);
    expect(parts.result("T")).toEqual({ table: "T", rows: 3, hash: whole });
    const different = [
      others,
      [...rows, first],
      [...others, ["row-1", 1.2]],
      [...others, ["row-1", null]],
      [...others, [1.1, "row-1"]],
    ];
    const hashes = different.map(hashOf);
    expect(new Set([whole, ...hashes]).size).toBe(different.length + 1);
  });
});

describe("a copy", () => {
  test("of every table has the same rows and hashes, and gives out no number twice", async () => {
    await make("from", async (target) => {
      await fillTables(target, tables, 40);
      await target.writeNumbers(tables, new Map([["Event", 90]]));
    });
    const read1 = await read("from", (from) => make("to", (to) => copyRows({ from, to, tables })));
    const read2 = await read("to", async (source) => {
      expect((await source.readNumbers(tables)).get("Event")).toBe(90);
      return checksumTables(source, tables);
    });
    expect(read2).toEqual(read1);
    expect(read2.map(({ rows }) => rows)).toEqual(tables.map(() => 40));
  });

  test("keeps the extremes of every kind", async () => {
    const benchmark = named("Benchmark");
    const price = named("NodePrice");
    const minute = named("HistoryMinute");
    const event = named("Event");
    const at = (table: Table, name: string) => table.columns.findIndex((column) => column.name === name);
    const seeds = ["9223372036854775807", "-9223372036854775808", 9_007_199_254_740_991, 0, -1].map(
      (seed, index) => madeRows(benchmark, index + 1)[index]?.with(at(benchmark, "seed"), seed) ?? [],
    );
    const prices = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.5, 3].map(
      (perHour, index) => madeRows(price, index + 1)[index]?.with(at(price, "perHour"), perHour) ?? [],
    );
    const bodies = ["", Buffer.alloc(70_000, 0xfe).toString("base64")].map(
      (body, index) => madeRows(minute, index + 1)[index]?.with(at(minute, "body"), body) ?? [],
    );
    const times = [-62_135_596_800_000, 8_640_000_000_000_000, 1, 2];
    const texts = ["", "a, b", "é\u{1F30A}\\\n\t'\"", "x".repeat(100_000)].map((text, index) => {
      const row = madeRows(event, index + 1).at(-1) ?? [];
      return row
        .with(at(event, "text"), text)
        .with(at(event, "at"), times[index] ?? 0)
        .with(at(event, "nodeId"), null);
    });
    const written = [
      [benchmark, seeds],
      [price, prices],
      [minute, bodies],
      [event, texts],
    ] as const;
    await make("from", async (target) => {
      for (const [table, rows] of written) await target.write(table, rows);
    });
    await read("from", (from) => make("to", (to) => copyRows({ from, to, tables })));
    await read("to", async (source) => {
      for (const [table, rows] of written) {
        expect(await rowsOf(source, table)).toEqual(rows);
      }
    });
  });

  test("that differs by one cell or one row is given up", async () => {
    await make("from", (target) => fillTables(target, tables, 3));
    const spoils: ((rows: readonly Row[]) => readonly Row[])[] = [
      (rows) => rows.slice(1),
      (rows) => rows.map((row, index) => (index === 1 ? row.with(2, "another") : row)),
    ];
    for (const spoil of spoils) {
      const copied = read("from", (from) =>
        make(`to-${spoils.indexOf(spoil)}`, (to) =>
          copyRows({
            from,
            to: { ...to, write: (table, rows) => to.write(table, table.name === "Audit" ? spoil(rows) : rows) },
            tables,
          }),
        ),
      );
      await expect(copied).rejects.toMatchObject({ code: "DATABASE_COPY_DIFFERS", context: { subject: "Audit" } });
    }
  });

  test("reads a bounded number of bytes at a time, however wide the rows are", async () => {
    expect([rowsAtOnce(0), rowsAtOnce(1_000_000), rowsAtOnce(1_000_000_000)]).toEqual([500, 4, 1]);
    const minute = named("HistoryMinute");
    const body = Buffer.alloc(1_000_000, 1).toString("base64");
    const wide = madeRows(minute, 9).map((row) =>
      row.with(
        minute.columns.findIndex(({ kind }) => kind === "bytes"),
        body,
      ),
    );
    await make("wide", (target) => target.write(minute, wide));
    const sizes: number[] = [];
    await read("wide", async (source) => {
      for await (const some of source.read(minute)) sizes.push(some.length);
    });
    expect(sizes).toEqual([4, 4, 1]);
  });
});
