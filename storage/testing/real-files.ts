import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenBeside, sourceOfBytes } from "../inspect/source.ts";

/**
 * For tests: files that the real libraries wrote, and what these libraries read from them (`make_fixtures.py`,
 * `make_inspect_fixtures.py` and `make_orbax_fixtures.py` in `clients/python`).
 */
const FIXTURES = join(import.meta.dirname, "../../e2e/stage/fixtures");
export const ARCHIVES = ["real-checkpoints", "inspect-formats", "orbax-checkpoints"] as const;
export type Archive = (typeof ARCHIVES)[number];

interface TrueTensor {
  name: string;
  dtype: string;
  shape: number[];
  sizeBytes: number;
  offset?: number;
}

export interface Truth {
  tensors?: TrueTensor[];
  metadata?: Record<string, string>;
  /** Names of the files that it references. */
  files?: string[];
  globalStep?: number;
  points?: { step: number; loss: number | null; learningRate: number | null }[];
}

type Truths = Record<string, Truth>;
const readJson = (name: string): unknown => JSON.parse(readFileSync(join(FIXTURES, name), "utf8"));

export const readTruth = (): Record<Archive, Truths> => ({
  ...(readJson("inspect-truth.json") as Record<"real-checkpoints" | "inspect-formats", Truths>),
  "orbax-checkpoints": readJson("orbax-truth.json") as Truths,
});

/** Opens the files of an archive that lie beside `path`. */
export const besideIn =
  (files: ReadonlyMap<string, Buffer>, path: string): OpenBeside =>
  (relative) => {
    const bytes = files.get(path.slice(0, path.lastIndexOf("/") + 1) + relative);
    return Promise.resolve(bytes === undefined ? null : sourceOfBytes(bytes));
  };

/** Returns every file of an archive by path. */
export function readArchive(archive: Archive): Map<string, Buffer> {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-real-"));
  try {
    execFileSync("tar", ["-xzf", join(FIXTURES, `${archive}.tar.gz`), "-C", folder]);
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      statSync(join(folder, name)).isFile(),
    );
    return new Map(names.sort().map((name) => [name, readFileSync(join(folder, name))]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
