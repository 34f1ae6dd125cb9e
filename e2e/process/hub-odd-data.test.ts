import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startHub } from "../stage/start-hub.ts";

/** Starts the hub on data folders that are no such folder, or whose database is none. */

const dir = mkdtempSync(join(tmpdir(), "tidemark-odd-data-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const PATHS: readonly [says: string, path: string, make: (path: string) => void][] = [
  ["a file lies there", "file", (path) => writeFileSync(path, "x")],
  ["a file lies on its path", "below/file/hub", (path) => writeFileSync(dirname(path), "x")],
  ["a link on its path leads nowhere", "link", (path) => symlinkSync(join(dir, "nothing"), path)],
  ["it is a folder", "folder", (path) => mkdirSync(join(path, "hub.db"), { recursive: true })],
  [
    "its database is damaged, or is none",
    "text",
    (path) => {
      mkdirSync(path);
      writeFileSync(join(path, "hub.db"), "x".repeat(5_000));
    },
  ],
];

test.for(PATHS)("a hub says that %s, and does not start", async ([says, path, make]) => {
  const data = join(dir, path);
  mkdirSync(dirname(dirname(data)), { recursive: true });
  make(data);
  const refused = await startHub({ dataDir: data }).then(
    () => "it started",
    (error: unknown) => String(error),
  );
  const words = refused.replaceAll(/[\s│]+/g, " ");
  expect(words).toContain(says);
  expect(words).not.toContain("unexpected");
});
