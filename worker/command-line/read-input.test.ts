import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openInput, type Input } from "./read-input.ts";

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "tidemark-input-"))));
afterAll(() => rmSync(folder, { recursive: true }));

let pipes = 0;
async function pipe() {
  const path = join(folder, `pipe-${++pipes}`);
  expect(spawnSync("mkfifo", [path]).status).toBe(0);
  const from = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { input: openInput(from), writer: await open(path, "w") };
}

/** Chunks are copied, because their memory is used again, and taken slowly now and then. */
async function readAll(input: Input): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk));
    if (chunks.length % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return Buffer.concat(chunks);
}

test("a pipe is read to its end, byte by byte the same", async () => {
  const content = randomBytes(3_000_001);
  const { input, writer } = await pipe();
  const reading = readAll(input);
  await writer.writeFile(content);
  await writer.close();
  expect((await reading).equals(content)).toBe(true);
});

test("a pipe in which nothing comes is no input", async () => {
  const { input, writer } = await pipe();
  await writer.close();
  expect(await readAll(input)).toHaveLength(0);
});

test("whoever waits for a pipe is told when nothing more is wanted", async () => {
  const { input, writer } = await pipe();
  const reading = readAll(input);
  await writer.write("begun");
  input.destroy();
  expect((await reading).length).toBeLessThanOrEqual(5);
  await writer.close();
});

test("a file is read from where it stands", async () => {
  const path = join(folder, "file");
  const content = randomBytes(1_000_003);
  writeFileSync(path, content);
  const fd = openSync(path, "r");
  expect((await readAll(openInput(fd))).equals(content)).toBe(true);
  closeSync(fd);
});

test("what cannot be read fails with the system's word", async () => {
  const fd = openSync(folder, "r");
  await expect(readAll(openInput(fd))).rejects.toMatchObject({ code: "EISDIR" });
  closeSync(fd);
});
