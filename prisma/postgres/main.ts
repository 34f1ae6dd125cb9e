import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deriveSchema } from "./derive-schema.ts";

/** Writes the schema of PostgreSQL again after a change of schema.prisma. */

const source = await readFile(join(import.meta.dirname, "../schema.prisma"), "utf8");
await writeFile(join(import.meta.dirname, "schema.prisma"), deriveSchema(source));
