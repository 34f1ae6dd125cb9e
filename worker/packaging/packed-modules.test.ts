import { join } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { PACKED_MODULES } from "./packed-modules.ts";

it("each packed module is imported, and only dynamically, so that no build contains it twice", async () => {
  const { metafile } = await build({
    entryPoints: ["worker/main.ts"],
    absWorkingDir: join(import.meta.dirname, "../.."),
    outdir: "out",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    metafile: true,
    write: false,
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  for (const module of PACKED_MODULES) {
    const kinds = new Set(imports.filter(({ path }) => path === module).map(({ kind }) => kind));
    expect([module, ...kinds]).toEqual([module, "dynamic-import"]);
  }
});
