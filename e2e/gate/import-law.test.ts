import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BROWSER_SAFE, findBroken } from "./import-law.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "tidemark-law-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const put = (path: string, text: string) => {
  mkdirSync(join(root, dirname(path)), { recursive: true });
  writeFileSync(join(root, path), text);
};

test("no file of this repository breaks the import law", () => {
  expect(findBroken(join(import.meta.dirname, "../.."))).toEqual([]);
});

test("finds a worker that imports the server's values, and lets it import the router's type", () => {
  put("worker/link/bad.ts", `import { hubRouter } from "#server/router.ts";\n`);
  put("worker/link/good.ts", `import type { HubRouter } from "#server/router.ts";\n`);
  expect(findBroken(root).map((one) => one.file)).toEqual(["worker/link/bad.ts"]);
});

test("finds an import that climbs out by a relative path, a dynamic one, and a re-export", () => {
  put("storage/a.ts", `import { x } from "../worker/x.ts";\n`);
  put("server/b.ts", `const y = await import("${["#app", "page.tsx"].join("/")}");\n`);
  put("protocol/c.ts", `export { z } from "#storage/s3/plan.ts";\n`);
  expect(
    findBroken(root)
      .map((one) => one.file)
      .toSorted(),
  ).toEqual(["protocol/c.ts", "server/b.ts", "storage/a.ts"]);
});

test("finds I/O in protocol, packages in the embedded store, and Node modules in the app", () => {
  put("protocol/clock.ts", `import { readFileSync } from "node:fs";\n`);
  put("store/xml.ts", `import { SaxesParser } from "saxes";\n`);
  put("app/page.tsx", `import { join } from "node:path";\n`);
  expect(findBroken(root)).toHaveLength(3);
});

test("lets the app import browser-safe storage and nothing else of it", () => {
  put("app/good.ts", `import { planParts } from "#storage/s3/plan.ts";\n`);
  put("app/bad.ts", `import { presign } from "#storage/signing/sigv4.ts";\n`);
  expect(findBroken(root).map((one) => one.imports)).toEqual(["#storage/signing/sigv4.ts"]);
});

test("what is browser-safe imports only what is, and nothing of Node", () => {
  for (const file of BROWSER_SAFE) {
    const source = readFileSync(join(import.meta.dirname, "../..", file), "utf8");
    for (const [, isType, specifier = ""] of source.matchAll(/import (type )?[^"]*?from "([^"]+)"/g)) {
      const target = specifier.startsWith(".")
        ? join(dirname(file), specifier)
        : specifier.replace(/^#storage/, "storage");
      const isFine = BROWSER_SAFE.has(target) || /^(#protocol\/|saxes$|zod$)/.test(target);
      expect(isType !== undefined || isFine, `${file} imports ${specifier}`).toBe(true);
    }
    expect(source.replaceAll(/\/\*[^]*?\*\/|body: Buffer;/g, ""), file).not.toMatch(/\bBuffer\b|\bprocess\./);
  }
});
