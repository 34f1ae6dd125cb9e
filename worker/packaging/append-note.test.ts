import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { appendNote } from "./append-note.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-note-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const note = { name: "SOME_NOTE", content: Buffer.from("what the program is to find") };

function noted(program: string): { path: string; bytes: Buffer; before: Buffer } {
  const path = join(dir, "program");
  const before = readFileSync(realpathSync(program));
  const bytes = appendNote(before, note);
  writeFileSync(path, bytes, { mode: 0o755 });
  return { path, bytes, before };
}

/** The segments of a program as its own header names them. */
function segmentsOf(bytes: Buffer): { type: number; offset: number; address: number; sizeBytes: number }[] {
  const table = Number(bytes.readBigUInt64LE(32));
  return Array.from({ length: bytes.readUInt16LE(56) }, (_, index) => {
    const at = table + index * 56;
    const long = (field: number) => Number(bytes.readBigUInt64LE(at + field));
    return { type: bytes.readUInt32LE(at), offset: long(8), address: long(16), sizeBytes: long(32) };
  });
}

describe.runIf(process.platform === "linux")("a note in a program", () => {
  test("a program that may lie anywhere in memory runs as before", () => {
    const { path } = noted("/bin/sh");
    expect(execFileSync(path, ["-c", "echo still $((40 + 2))"], { encoding: "utf8" })).toBe("still 42\n");
  });

  test("a program with a place of its own runs as before, and is smaller without what only debuggers read", () => {
    const { path, bytes, before } = noted(process.execPath);
    expect(execFileSync(path, ["-p", "6 * 7"], { encoding: "utf8" })).toBe("42\n");
    expect(bytes.length).toBeLessThan(before.length);
  });

  test("the note lies in a segment that is loaded, under its name, beside those that were there", () => {
    const { bytes, before } = noted("/bin/sh");
    const segments = segmentsOf(bytes);
    expect(segments).toHaveLength(segmentsOf(before).length + 2);
    const found = segments.findLast(({ type }) => type === 4);
    const loaded = segments.findLast(({ type }) => type === 1);
    if (found === undefined || loaded === undefined) throw new Error("there is no note");
    expect(found.offset).toBeGreaterThan(loaded.offset);
    expect(found.offset + found.sizeBytes).toBe(loaded.offset + loaded.sizeBytes);
    expect(found.address - found.offset).toBe(loaded.address - loaded.offset);
    const nameBytes = bytes.readUInt32LE(found.offset);
    const contentBytes = bytes.readUInt32LE(found.offset + 4);
    expect(bytes.toString("utf8", found.offset + 12, found.offset + 12 + nameBytes)).toBe("SOME_NOTE\0");
    const contentAt = found.offset + 12 + Math.ceil(nameBytes / 4) * 4;
    expect(bytes.subarray(contentAt, contentAt + contentBytes)).toEqual(note.content);
  });
});

test("what is no Linux program is refused", () => {
  expect(() =>
    appendNote(Buffer.from("#!/bin/sh\necho no program, however long it is made to be\n".repeat(3)), note),
  ).toThrow("not a 64-bit Linux program");
});
