import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inOrder, presentTables, type Table } from "./tables.ts";

const table = (name: string, ...refersTo: string[]): Table => ({ name, columns: [], refersTo, number: null });

test("every model of the schema is a table, with all columns, behind those that it refers to", async () => {
  const schema = await readFile(join(import.meta.dirname, "../schema.prisma"), "utf8");
  const models = [...schema.matchAll(/^model (\w+) \{\n(.*?)^\}/gms)].map(([, name = "", body = ""]) => ({
    name,
    body,
  }));
  const names = models.map(({ name }) => name);
  const tables = await presentTables();
  expect(tables.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  for (const { name, body } of models) {
    const fields = [...body.matchAll(/^ {2}(\w+) +(\w+)/gm)].filter(([, , type = ""]) => !names.includes(type));
    const found = tables.find((one) => one.name === name);
    expect(found?.columns.map((column) => column.name).toSorted()).toEqual(
      fields.map(([, field = ""]) => field).toSorted(),
    );
    const before = tables
      .slice(
        0,
        tables.findIndex((one) => one.name === name),
      )
      .map((one) => one.name);
    expect(before).toEqual(expect.arrayContaining([...(found?.refersTo ?? [])]));
  }
});

test("tables keep their order unless one refers to another, and a circle is refused", () => {
  const ordered = inOrder([table("Part", "Whole"), table("Alone"), table("Whole"), table("Self", "Self")]);
  expect(ordered.map(({ name }) => name)).toEqual(["Alone", "Whole", "Self", "Part"]);
  expect(() => inOrder([table("Free"), table("A", "B"), table("B", "A")])).toThrow("in a circle: A, B");
});
