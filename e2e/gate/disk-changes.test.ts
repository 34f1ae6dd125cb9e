import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./run-step.ts";

/** One module of the worker removes and renames; docs/durability.md shows its table. */

const MODULE = "worker/base/disk/change-disk.ts";
/** Tests and their fixtures, and what builds the executable on a developer's machine. */
const NOT_SHIPPED = /\.test\.ts$|^worker\/testing\/|(^|\/)(build-single-file|build)\.ts$/;
const CALL = /(?<![\w.])(?:fs\.)?(rm|rmdir|unlink|rename|rmSync|rmdirSync|unlinkSync|renameSync)\(/g;
const IMPORT = /import\s*\{([^}]*)\}\s*from\s*"node:fs(?:\/promises)?"/g;
const FORBIDDEN = /\b(rm|rmdir|unlink|rename|rmSync|rmdirSync|unlinkSync|renameSync)\b/;

const sources = readdirSync(join(ROOT, "worker"), { recursive: true, encoding: "utf8" })
  .map((name) => `worker/${name}`)
  .filter((name) => name.endsWith(".ts") && name !== MODULE && !NOT_SHIPPED.test(name));

test("every removal and every rename of the worker goes through one module", () => {
  expect(sources.length).toBeGreaterThan(300);
  const others = sources.flatMap((name) => {
    const text = readFileSync(join(ROOT, name), "utf8");
    const imported = [...text.matchAll(IMPORT)].filter(([, names = ""]) => FORBIDDEN.test(names));
    const called = [...text.matchAll(CALL)];
    const whole = /import \* as \w+ from "node:fs(?:\/promises)?"|from "node:fs";\s*$/.test(text);
    return imported.length + called.length > 0 || whole ? [name] : [];
  });
  expect(others).toEqual([]);
});

test("docs/durability.md shows which paths may be removed or renamed, and why", () => {
  const page = readFileSync(join(ROOT, "docs/durability.md"), "utf8");
  const table = readFileSync(join(ROOT, "worker/base/disk/owned-paths.ts"), "utf8");
  const rows = [...table.matchAll(/^ {2}"?([a-z-]+)"?: \{\n\s+paths:\s+"([^"]+)",\n\s+why:\s+"([^"]+)",/gm)];
  expect(rows.length).toBeGreaterThanOrEqual(11);
  for (const [, name = "", paths = "", why = ""] of rows) expect(page).toContain(`| ${name} | ${paths} | ${why} |`);
});
