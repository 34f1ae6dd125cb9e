import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { MADE } from "#e2e/link/compile-c.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { baseEnvironment, type Tool } from "./tool.ts";

const SCRIPT = join(import.meta.dirname, "../peers/sdk-reference.ts");
const BUNDLE = join(MADE, "sdk-reference.mjs");
const MB = 1_000_000;

/** Bundles the program into one file, as Tidemark is: loading hundreds of modules would count against it. */
async function bundle(): Promise<void> {
  await build({
    entryPoints: [SCRIPT],
    outfile: BUNDLE,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    minify: true,
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "warning",
  });
}

let bundled: Promise<void> | null = null;

/** The AWS SDK for JavaScript, used as documented; Tidemark has an engine of its own instead. */
export const sdk: Tool = {
  name: "sdk",
  title: "AWS SDK (JS)",
  role: "peer",
  setup: "lib-storage `Upload` with 10 parts of 10 MB; ranged GETs of 10 MB, 10 at a time; small files 64 at a time",
  find: async () => {
    const text = await readFile(join(ROOT, "node_modules/@aws-sdk/client-s3/package.json"), "utf8");
    const { version } = JSON.parse(text) as { version: string };
    return { version: `client-s3 ${version}, Node ${process.versions.node}` };
  },
  inFlight: ({ names }) =>
    names === null ? { parts: 10, partBytes: 10 * MB, files: 1 } : { parts: 1, partBytes: 64 << 10, files: 64 },
  command: async (task) => {
    await (bundled ??= bundle());
    return {
      program: process.execPath,
      args: [
        BUNDLE,
        task.direction,
        task.names === null ? "file" : "folder",
        task.endpoint,
        task.bucket,
        task.key,
        task.path,
      ],
      env: baseEnvironment(task),
    };
  },
};
