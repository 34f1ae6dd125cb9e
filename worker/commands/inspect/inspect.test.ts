import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createInspector, INSPECTOR_LIMITS } from "#storage/inspect/inspector.ts";
import { resolveConfig } from "../../command-line/config.ts";
import { createTerminal } from "../../command-line/terminal.ts";
import { inspect } from "./inspect.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-inspect-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it.each([
  ["loop", "took longer than"],
  ["fill", "more memory than"],
  ["exit", "was ended"],
])("a file that would %s ends with a sentence, and the program goes on", async (what, says) => {
  const path = join(folder, what);
  writeFileSync(path, "{}");
  const chunks: Buffer[] = [];
  const limits = { ...INSPECTOR_LIMITS, computeMs: what === "loop" ? 200 : 30_000, memoryMiB: 48 };
  const thread = new URL("../../../storage/testing/hostile-thread.ts", import.meta.url);
  const streams = { out: () => undefined, talk: () => undefined, isTty: false, columns: 0, rows: 0 };
  const context = {
    config: resolveConfig({ command: "inspect", flags: new Map(), env: {} }),
    operands: [path],
    terminal: createTerminal(streams, { json: false, plain: true }),
    signal: new AbortController().signal,
    home: null,
    output: async (chunk: Buffer) => void chunks.push(chunk),
    input: () => {
      throw new Error("it reads no input");
    },
  };
  expect(await inspect(context, () => createInspector(limits, thread))).toBe(1);
  expect(Buffer.concat(chunks).toString()).toContain(says);
});
