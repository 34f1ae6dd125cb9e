import { build } from "esbuild";
import { chmod, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatBytes } from "#protocol/units.ts";

/** Bundles the worker into one file that needs nothing but Node 22.19 or newer: `dist/tidemark.mjs`. */

const root = join(import.meta.dirname, "..");
const outfile = join(root, "dist/tidemark.mjs");
/** Dependencies written for `require` find it here. */
const banner = `#!/usr/bin/env node
import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);`;

await mkdir(dirname(outfile), { recursive: true });
await build({
  entryPoints: [join(root, "worker/main.ts")],
  outfile,
  bundle: true,
  platform: "node",
  target: "node22.19",
  format: "esm",
  minify: true,
  keepNames: true,
  sourcemap: false,
  legalComments: "none",
  banner: { js: banner },
  logLevel: "warning",
});
await chmod(outfile, 0o755);
const { size } = await stat(outfile);
process.stdout.write(`dist/tidemark.mjs ${formatBytes(size)}\n`);
