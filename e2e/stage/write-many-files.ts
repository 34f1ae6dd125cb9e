import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { layersOf, writeSafetensors } from "./write-checkpoint.ts";

export interface ManyFiles {
  folder: string;
  step: number;
  files: number;
  /** Size of a small file, by its number. */
  bytesOf: (number: number) => number;
  /** Repetitive JSON, or incompressible bytes. */
  content: "json" | "random";
  modelBytes: number;
}

/**
 * Writes a checkpoint of one large file and many small ones, a hundred per folder, and renames it into place. Returns its
 * path.
 */
export function writeManyFiles(options: ManyFiles): string {
  const { folder, step, files, bytesOf, content, modelBytes } = options;
  const name = `checkpoint-${step}`;
  const temporary = join(folder, `.${name}.tmp`);
  mkdirSync(temporary, { recursive: true });
  if (modelBytes > 0) writeSafetensors(join(temporary, "model.safetensors"), layersOf(modelBytes));
  for (let number = 0; number < files; number++) {
    const path = join(temporary, `shards/${String(Math.floor(number / 100)).padStart(4, "0")}`, `${number}.json`);
    if (number % 100 === 0) mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content === "json" ? textOf(number, bytesOf(number)) : bytesLike(number, bytesOf(number)));
  }
  const place = join(folder, name);
  renameSync(temporary, place);
  return place;
}

function textOf(number: number, bytes: number): string {
  const start = `{"shard":${number},"note":"`;
  return `${start}${"the same words again ".repeat(Math.ceil(bytes / 20)).slice(0, bytes - start.length - 2)}"}`;
}

/** Returns deterministic bytes that differ for each number. */
function bytesLike(number: number, bytes: number): Buffer {
  const blocks: Buffer[] = [];
  for (let made = 0; made < bytes; made += 64) {
    blocks.push(createHash("sha512").update(`${number} ${made}`).digest());
  }
  return Buffer.concat(blocks).subarray(0, bytes);
}
