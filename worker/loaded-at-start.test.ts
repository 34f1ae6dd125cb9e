import { join } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";

/** The packages that every command loads before it does anything: those of `main.ts` and of what it imports at the top. */
async function packagesAtStart(): Promise<Set<string>> {
  const { metafile } = await build({
    entryPoints: [join(import.meta.dirname, "main.ts")],
    absWorkingDir: import.meta.dirname,
    outdir: "out",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    metafile: true,
    write: false,
  });
  const found = new Set<string>();
  const seen = new Set(["out/main.js"]);
  for (const name of seen) {
    for (const { path, kind, external } of metafile.outputs[name]?.imports ?? []) {
      if (kind !== "import-statement") continue;
      if (external === true) found.add(path);
      else seen.add(path);
    }
  }
  return found;
}

it("no command waits for schemas or the SDK that it may not need", async () => {
  const packages = await packagesAtStart();
  expect([...packages].filter((name) => !name.startsWith("node:"))).toEqual([]);
  expect(packages.size).toBeGreaterThan(3);
});
