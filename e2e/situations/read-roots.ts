import { globSync } from "node:fs";
import { join } from "node:path";
import { root, type Root } from "./situation.ts";

/** Reads every `root-N.ts` of this folder, in the order of their numbers. */
export async function readRoots(): Promise<Root[]> {
  const found: Root[] = [];
  for (const file of globSync("root-*.ts", { cwd: import.meta.dirname })) {
    const module: unknown = await import(join(import.meta.dirname, file));
    found.push(root.parse(Reflect.get(Object(module), "root")));
  }
  return found.sort((a, b) => a.number - b.number);
}

/** Splits the name of a test into its file and its title. */
export function placeOf(test: string): { file: string; title: string } {
  const [file = "", ...title] = test.split(" > ");
  return { file, title: title.join(" > ") };
}
