import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { ROOT } from "./run-step.ts";

/**
 * Bundles the hub's programs into `.tools/hub`: one file each, and files that they share or load only when needed. Tests start dozens of hubs, and each start from the sources
 * compiles a thousand modules. `server/main.test.ts` and the demo start from the sources.
 */

const OUT = join(ROOT, ".tools/hub");
/** The launcher, and the programs that it or the hub starts by path. */
const PROGRAMS = {
  main: "server/main.ts",
  "signer/main": "server/signer/main.ts",
  "http/main": "server/http/main.ts",
  "http/history-thread": "server/http/history-thread.ts",
  "features/maintenance/command-line/main": "server/features/maintenance/command-line/main.ts",
  "inspect/thread": "storage/inspect/inspector-thread.ts",
  "inputs/thread": "server/core/api/input-thread.ts",
  "database/thread": "prisma/database-thread.ts",
};

export const HUB_BUNDLE = join(OUT, "main.js");

/** Paths in the sources, and their replacements in the bundle. */
const PLACES: Readonly<Record<string, readonly (readonly [source: string, bundled: string])[]>> = {
  "server/main.ts": [
    ["import.meta.dirname", JSON.stringify(OUT)],
    ['"signer/main.ts"', '"signer/main.js"'],
    ['"http/main.ts"', '"http/main.js"'],
  ],
  "server/http/main.ts": [['join(import.meta.dirname, "../..")', JSON.stringify(ROOT)]],
  "server/http/open-hub.ts": [
    [
      'new URL("./history-thread.ts", import.meta.url)',
      `new URL(${JSON.stringify(pathToFileURL(join(OUT, "http/history-thread.js")).href)})`,
    ],
  ],
  "storage/inspect/inspector.ts": [
    ['new URL("./inspector-thread.ts", import.meta.url)', JSON.stringify(join(OUT, "inspect/thread.js"))],
  ],
  "server/core/api/input-reader.ts": [
    ['new URL("./input-thread.ts", import.meta.url)', JSON.stringify(join(OUT, "inputs/thread.js"))],
  ],
  "server/http/schedule.ts": [
    [
      'join(import.meta.dirname, "../features/maintenance/command-line/main.ts")',
      JSON.stringify(join(OUT, "features/maintenance/command-line/main.js")),
    ],
  ],
  "prisma/thread-client.ts": [
    ['new URL("./database-thread.ts", import.meta.url)', JSON.stringify(join(OUT, "database/thread.js"))],
  ],
  "prisma/migrate.ts": [["import.meta.dirname", JSON.stringify(join(ROOT, "prisma"))]],
  "prisma/postgres/migrate.ts": [["import.meta.dirname", JSON.stringify(join(ROOT, "prisma/postgres"))]],
};

const places: Plugin = {
  name: "places",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/](server|storage|protocol|prisma)[\\/].*\.ts$/ }, ({ path }) => {
      const file = relative(ROOT, path);
      let contents = readFileSync(path, "utf8");
      for (const [source, bundled] of PLACES[file] ?? []) {
        if (!contents.includes(source))
          throw new Error(`${file} no longer says ${source}: mend e2e/gate/bundle-hub.ts`);
        contents = contents.replaceAll(source, bundled);
      }
      if (file in PROGRAMS || !/import\.meta\.(dirname|url|filename)/.test(contents)) return { contents, loader: "ts" };
      if (/^prisma\/(postgres\/)?client\//.test(file)) return { contents, loader: "ts" };
      throw new Error(`${file} asks where it lies, which a bundle does not know: add it to e2e/gate/bundle-hub.ts`);
    });
  },
};

/**
 * CommonJS packages need `require` and `__filename`. WebAssembly optimization is deferred: it took a fifth of the CPU time of
 * a start, and test hubs end before it pays off.
 */
const BANNER = `import { createRequire as __createRequire } from "node:module";
import { setFlagsFromString as __setFlag } from "node:v8";
__setFlag("--wasm-tiering-budget=200000000");
const require = __createRequire(import.meta.url);
const __filename = import.meta.filename;
const __dirname = import.meta.dirname;`;

/** Bundles the hub. @throws Error with the bundler's output */
export async function bundleHub(): Promise<void> {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(dirname(HUB_BUNDLE), { recursive: true });
  writeFileSync(join(OUT, "package.json"), '{ "type": "module" }\n');
  await build({
    absWorkingDir: ROOT,
    entryPoints: PROGRAMS,
    outdir: OUT,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node24",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    logLevel: "error",
    external: ["next", "libsql", "@libsql/*"],
    banner: { js: BANNER },
    plugins: [places],
  });
}

if (import.meta.main) await bundleHub();
