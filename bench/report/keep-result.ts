import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type * as z from "zod";
import { RESULTS } from "./results.ts";

/** A stored measurement from whose one file a page is made. */
export interface KeptResult<T> {
  readonly file: string;
  save: (result: T) => Promise<void>;
  /** Reads the result. @throws when there is none, or it is of another shape */
  read: () => Promise<T>;
}

/** Stores a result in `bench/results/NAME.json`; a later measurement replaces it. */
export function keepResult<T>(name: string, schema: z.ZodType<T>): KeptResult<T> {
  const file = join(RESULTS, `${name}.json`);
  return {
    file,
    async save(result) {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
    },
    read: async () => schema.parse(JSON.parse(await readFile(file, "utf8"))),
  };
}
