import { build, type BuildOptions, type Plugin } from "esbuild";
import { createRequire } from "node:module";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { formatBytes } from "#protocol/base/units.ts";
import { KOFFI, NODE_RS_CRC32 } from "./base/load-native.ts";
import { buildSingleFile } from "./packaging/build-single-file.ts";
import { importNode } from "./packaging/import-node.ts";
import { PACKED_MODULES } from "./packaging/packed-modules.ts";

/**
 * Bundles the worker into `dist/tidemark.mjs`, a script that needs only Node 22.19 or newer. On Linux it also builds
 * `dist/tidemark`, an executable of the same script and the running Node. Node parses the whole script at every start.
 * Therefore code that few commands need (the AWS SDK) is embedded as compressed text and unpacked on first use, and unused
 * texts are left out.
 */

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
/** The bundle uses `require`, the only import that works in the executable; the .mjs file defines it in this banner. */
const banner = `#!/usr/bin/env node
import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);`;

const options = {
  bundle: true,
  platform: "node",
  target: "node22.19",
  // Names are not minified, so that stack traces stay readable. `keepNames` is not used: it adds a call for every function
  // created, thousands per second, which cost a fifth of the CPU for small files.
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: false,
  legalComments: "none",
  // A bundle has no meaningful path of its own.
  define: { "import.meta.filename": '""' },
  logLevel: "warning",
} as const satisfies BuildOptions;

/** Replaces zod's messages in forty languages by the English ones. */
const oneLanguage: Plugin = {
  name: "one-language",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: `export { default as en } from "./en.js";`,
      loader: "js",
    }));
  },
};

/** The only class that main bundle and packed part must share, because a Fault is recognized by `instanceof`. */
const SHARED = "#protocol/faults/fault.ts";
const sharedFault: Plugin = {
  name: "shared-fault",
  setup: ({ onResolve }) => {
    onResolve({ filter: /(^|\/)fault\.ts$/ }, ({ path, importer }) =>
      path === SHARED || importer.startsWith(join(root, "protocol/")) ? { path: SHARED, external: true } : undefined,
    );
  },
};

const PACKED = PACKED_MODULES.map((path) => join(root, path));

async function pack(): Promise<string> {
  const exported = PACKED.map((path) => `export * from ${JSON.stringify(path)};`).join("\n");
  const { outputFiles } = await build({
    ...options,
    stdin: { contents: exported, resolveDir: root },
    format: "cjs",
    write: false,
    plugins: [oneLanguage, sharedFault],
  });
  return brotliCompressSync(outputFiles[0]?.contents ?? "").toString("base64");
}

/** Returns the module that replaces a dynamic import of a packed module. */
const unpacking = (text: string): string => `
  const { brotliDecompressSync } = process.getBuiltinModule("node:zlib");
  const { compileFunction } = process.getBuiltinModule("node:vm");
  const shared = require("${SHARED}");
  const source = brotliDecompressSync(Buffer.from("${text}", "base64")).toString();
  const own = (name) => (name === "${SHARED}" ? shared : process.getBuiltinModule(name));
  const loaded = { exports: {} };
  compileFunction(source, ["module", "exports", "require"])(loaded, loaded.exports, own);
  module.exports = loaded.exports;`;

const packed: Plugin = {
  name: "packed",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /\.ts$/ }, ({ path, kind, resolveDir }) =>
      kind === "dynamic-import" &&
      PACKED.includes(path.startsWith("#worker/") ? join(root, path.slice(1)) : join(resolveDir, path))
        ? { path: "with the SDK", namespace: "packed" }
        : undefined,
    );
    onLoad({ filter: /./, namespace: "packed" }, async () => ({
      contents: unpacking(await pack()),
      loader: "js",
      resolveDir: root,
    }));
  },
};

/** Embeds the script of the thread that inspects files as compressed text, because a single-file bundle has no second file. */
const inspectorThread: Plugin = {
  name: "inspector-thread",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]storage[\\/]inspect[\\/]inspector\.ts$/ }, async ({ path }) => {
      const { outputFiles } = await build({
        ...options,
        entryPoints: [join(root, "storage/inspect/inspector-thread.ts")],
        format: "cjs",
        write: false,
        plugins: [oneLanguage],
      });
      const text = brotliCompressSync(outputFiles[0]?.contents ?? "").toString("base64");
      const place = `new URL("./inspector-thread.ts", import.meta.url)`;
      const source = await readFile(path, "utf8");
      if (!source.includes(place)) throw new Error(`${path} no longer says ${place}: mend worker/build.ts`);
      const unpack = `process.getBuiltinModule("node:zlib").brotliDecompressSync(Buffer.from("${text}", "base64")).toString()`;
      return { contents: source.replace(place, `({ text: ${unpack} })`), loader: "ts" };
    });
  },
};

const { outputFiles } = await build({
  ...options,
  entryPoints: [join(root, "worker/main.ts")],
  format: "cjs",
  write: false,
  plugins: [oneLanguage, packed, inspectorThread, importNode],
});
const script = outputFiles[0]?.text ?? "";

async function tell(name: string): Promise<void> {
  await chmod(join(dist, name), 0o755);
  const { size } = await stat(join(dist, name));
  process.stdout.write(`dist/${name} ${formatBytes(size)}\n`);
}

await mkdir(dist, { recursive: true });
await writeFile(join(dist, "tidemark.mjs"), `${banner}\n${script}`);
await tell("tidemark.mjs");
if (process.platform === "linux") {
  const { resolve } = createRequire(import.meta.filename);
  const koffi = dirname(resolve(`@koromix/koffi-linux-${process.arch}`));
  const assets = {
    [KOFFI.asset]: join(koffi, `linux_${process.arch}`, "koffi.node"),
    [NODE_RS_CRC32.asset]: resolve(`@node-rs/crc32-linux-${process.arch}-gnu`),
  };
  await buildSingleFile({ script, outfile: join(dist, "tidemark"), assets });
  await tell("tidemark");
} else process.stdout.write("dist/tidemark, which runs without Node, is made on Linux only\n");
