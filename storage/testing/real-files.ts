import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * For tests: the files that the real libraries wrote, and what these libraries find in them
 * (`clients/python/make_fixtures.py`, `clients/python/make_inspect_fixtures.py`).
 */
const FIXTURES = join(import.meta.dirname, "../../e2e/stage/fixtures");
export const ARCHIVES = ["real-checkpoints", "inspect-formats"] as const;
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
  /** Names of the files that belong to it. */
  files?: string[];
  globalStep?: number;
  points?: { step: number; loss: number | null; learningRate: number | null }[];
}

export const readTruth = (): Record<Archive, Record<string, Truth>> =>
  JSON.parse(readFileSync(join(FIXTURES, "inspect-truth.json"), "utf8")) as Record<Archive, Record<string, Truth>>;

/** Every file of an archive by its path. */
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
