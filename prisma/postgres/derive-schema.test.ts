import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deriveSchema } from "./derive-schema.ts";

const at = (path: string): string => join(import.meta.dirname, path);
const namesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();

test("the schema of PostgreSQL is the one that schema.prisma gives: otherwise run node prisma/postgres/main.ts", async () => {
  const source = await readFile(at("../schema.prisma"), "utf8");
  expect(await readFile(at("schema.prisma"), "utf8")).toBe(deriveSchema(source));
});

test("a source of another form is refused", () => {
  expect(() => deriveSchema('provider = "sqlite"\nprovider = "sqlite"')).toThrow("exactly one line");
});

test("every migration of SQLite since the first of PostgreSQL has one of the same name there", async () => {
  const sqlite = await namesIn(at("../migrations"));
  const postgres = await namesIn(at("migrations"));
  expect(postgres[0]).toBe("0045_lines");
  expect(postgres).toEqual(sqlite.slice(sqlite.indexOf("0045_lines")));
});
