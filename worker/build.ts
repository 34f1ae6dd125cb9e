import { build, type BuildOptions, type Plugin } from "esbuild";
import { chmod, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { formatBytes } from "#protocol/units.ts";

/**
 * Bundles the worker into one file that needs nothing but Node 22.19 or newer: `dist/tidemark.mjs`. Node reads and parses
 * all of it at every start, so what only one rare command needs (the AWS SDK, for `cp -`) lies in it as compressed text
 * that is unpacked on first use, and texts that are never shown are left out.
 */

const root = join(import.meta.dirname, "..");
const outfile = join(root, "dist/tidemark.mjs");
/** Dependencies written for `require` find it here. */
const banner = `#!/usr/bin/env node
import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);`;

const options = {
  bundle: true,
  platform: "node",
  target: "node22.19",
  minify: true,
  keepNames: true,
  sourcemap: false,
  legalComments: "none",
  logLevel: "warning",
} as const satisfies BuildOptions;

/** zod carries its messages in forty languages; the worker speaks one. */
const oneLanguage: Plugin = {
  name: "one-language",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: `export { default as en } from "./en.js";`,
      loader: "js",
    }));
  },
};

/** The one class that both halves have to share: a Fault is known by `instanceof`. */
const SHARED = "#protocol/fault.ts";
const sharedFault: Plugin = {
  name: "shared-fault",
  setup: ({ onResolve }) => {
    onResolve({ filter: /(^|\/)fault\.ts$/ }, ({ path, importer }) =>
      path === SHARED || dirname(importer) === join(root, "protocol") ? { path: SHARED, external: true } : undefined,
    );
  },
};

async function pack(entry: string): Promise<string> {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [entry],
    format: "cjs",
    write: false,
    plugins: [oneLanguage, sharedFault],
  });
  return brotliCompressSync(outputFiles[0]?.contents ?? "").toString("base64");
}

/** What a dynamic import of `send-stdin.ts` becomes. */
const unpacking = (text: string): string => `
  const { brotliDecompressSync } = require("node:zlib");
  const { compileFunction } = require("node:vm");
  const shared = require("${SHARED}");
  const source = brotliDecompressSync(Buffer.from("${text}", "base64")).toString();
  const own = (name) => (name === "${SHARED}" ? shared : require(name));
  const loaded = { exports: {} };
  compileFunction(source, ["module", "exports", "require"])(loaded, loaded.exports, own);
  module.exports = loaded.exports;`;

const packed: Plugin = {
  name: "packed",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /\/send-stdin\.ts$/ }, ({ path, kind, resolveDir }) =>
      kind === "dynamic-import" ? { path: join(resolveDir, path), namespace: "packed" } : undefined,
    );
    onLoad({ filter: /./, namespace: "packed" }, async ({ path }) => ({
      contents: unpacking(await pack(path)),
      loader: "js",
      resolveDir: root,
    }));
  },
};

/** An import of a module of Node at the top of a file is loaded at every start; this way it is when its importer runs. */
const lazyNode: Plugin = {
  name: "lazy-node",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:/ }, ({ path, namespace }) =>
      namespace === "lazy-node" ? { path, external: true } : { path, namespace: "lazy-node" },
    );
    onLoad({ filter: /./, namespace: "lazy-node" }, ({ path }) => ({
      contents: `module.exports = require("${path}");`,
      loader: "js",
    }));
  },
};

await mkdir(dirname(outfile), { recursive: true });
await build({
  ...options,
  entryPoints: [join(root, "worker/main.ts")],
  outfile,
  format: "esm",
  banner: { js: banner },
  plugins: [oneLanguage, packed, lazyNode],
});
await chmod(outfile, 0o755);
const { size } = await stat(outfile);
process.stdout.write(`dist/tidemark.mjs ${formatBytes(size)}\n`);
