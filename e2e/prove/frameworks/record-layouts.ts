import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LAYOUTS } from "../../layouts/unpack-layout.ts";
import type { Case } from "./case.ts";
import { CASES } from "./cases.ts";
import { live } from "./control.ts";
import { prepareEnvironment } from "./environment.ts";
import { prepareLife } from "./life.ts";

/**
 * `npm run prove -- layouts [NAME...]`: packs the folder of each framework when its first execution is killed, with names,
 * links and times. A test without Python reads these layouts (e2e/process/recorded-layouts.test.ts).
 */

async function record(one: Case): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-layout-"));
  try {
    const root = join(dir, "work");
    mkdirSync(root, { recursive: true });
    const life = prepareLife({ one, root, journal: join(dir, "journal"), until: one.kills[0], stopsAt: null });
    await live(life, { root, out: join(dir, "out") });
    const file = join(LAYOUTS, `${one.name}.tar.gz`);
    // The POSIX format keeps fractions of a second, by which programs choose the newest file.
    execFileSync("tar", ["--format=posix", "--owner=0", "--group=0", "-czf", file, "-C", join(root, one.watch), "."]);
    console.log(`  ${one.name}: ${statSync(file).size} bytes`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Records the named cases, or all. Returns the exit code. @throws Error when a program fails */
export async function recordLayouts(names: readonly string[]): Promise<number> {
  prepareEnvironment();
  mkdirSync(LAYOUTS, { recursive: true });
  for (const one of CASES) if (names.length === 0 || names.includes(one.name)) await record(one);
  return 0;
}
