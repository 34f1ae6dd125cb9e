import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BROWSER_SAFE } from "./import-law.ts";
import { ROOT, runStep, type Step } from "./run-step.ts";

/** Builds what runs from built files: the pages and the worker bundle. Skips targets whose sources have not changed. */

interface Target {
  step: Step;
  sources: string[];
  /** Built files. The first one names the target. */
  results: [string, ...string[]];
  stamp: string;
}

const TARGETS: readonly Target[] = [
  {
    step: {
      title: "build the pages",
      command: ["next", "build"],
      env: { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
    },
    sources: [
      "app/**/*.{ts,tsx,css}",
      "protocol/**/*.ts",
      ...BROWSER_SAFE,
      "public/**/*",
      "next.config.mjs",
      "package-lock.json",
    ],
    results: [".next/BUILD_ID"],
    stamp: ".next/.tidemark-built-from",
  },
  {
    step: { title: "build the worker", command: [process.execPath, "worker/build.ts"] },
    sources: ["worker/**/*.ts", "protocol/**/*.ts", "storage/**/*.ts", "package-lock.json"],
    results: ["dist/tidemark.mjs", ...(process.platform === "linux" ? ["dist/tidemark"] : [])],
    stamp: "dist/.tidemark-built-from",
  },
];

function digest(patterns: string[]): string {
  const hash = createHash("sha256");
  for (const file of globSync(patterns, { cwd: ROOT }).toSorted()) {
    if (/\.test\.tsx?$/.test(file) || !statSync(join(ROOT, file)).isFile()) continue;
    hash.update(file).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest("hex");
}

/**
 * Builds all targets, or only the one of a file.
 * @throws Error with the tool's output when a build fails
 */
export async function build(only?: "dist/tidemark.mjs" | ".next/BUILD_ID"): Promise<void> {
  for (const target of TARGETS.filter(({ results }) => only === undefined || only === results[0])) {
    const wanted = digest(target.sources);
    const stamp = join(ROOT, target.stamp);
    const isThere = target.results.every((result) => existsSync(join(ROOT, result)));
    if (isThere && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) continue;
    process.stderr.write(`  ${target.step.title}\n`);
    const result = await runStep(target.step);
    if (!result.ok) throw new Error(`${target.step.title} failed:\n${result.output}`);
    mkdirSync(join(stamp, ".."), { recursive: true });
    writeFileSync(stamp, wanted);
  }
}

if (import.meta.main) {
  try {
    await build();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
