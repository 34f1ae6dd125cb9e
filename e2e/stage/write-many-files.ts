import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { layersOf, writeSafetensors } from "./write-checkpoint.ts";

export interface ManyFiles {
  folder: string;
  step: number;
  files: number;
  /** Of each small file, by its number. */
  bytesOf: (number: number) => number;
  /** JSON that repeats itself, or bytes that nothing makes smaller. */
  content: "json" | "random";
  modelBytes: number;
}

/** A checkpoint of one large file and many small ones in folders of a hundred, renamed into place; returns its path. */
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

/** The same bytes for the same number, different for each. */
function bytesLike(number: number, bytes: number): Buffer {
  const blocks: Buffer[] = [];
  for (let made = 0; made < bytes; made += 64) {
    blocks.push(createHash("sha512").update(`${number} ${made}`).digest());
  }
  return Buffer.concat(blocks).subarray(0, bytes);
}
