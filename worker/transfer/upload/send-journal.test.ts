import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSendJournal, type SendJournal } from "./send-journal.ts";

const identity = { dev: "1", ino: "2", sizeBytes: 12_000_000, mtimeNs: "3" };
const file = { key: "k", identity, partBytes: 5_000_000 };
const upload = { uploadId: "u1", checksum: "crc32" } as const;
let folder: string;
let open: SendJournal[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-send-journal-"));
  open = [];
});
afterEach(async () => {
  for (const journal of open) await journal.close();
  await rm(folder, { recursive: true, force: true });
});

/** Another life of the process: what was written is all it knows. */
async function life(): Promise<SendJournal> {
  const journal = await openSendJournal(join(folder, "j.jsonl"));
  open.push(journal);
  return journal;
}

describe("an upload that nobody will go on with", () => {
  test.each([
    ["the file was changed", { ...file, identity: { ...identity, mtimeNs: "4" } }],
    ["its parts are to be of another size", { ...file, partBytes: 6_000_000 }],
  ])("is told of before it is forgotten: %s", async (_, other) => {
    const { memory } = await (await life()).file(file);
    await memory.begin(upload);
    await memory.acknowledge(1, { etag: '"e"', crc32: "01020304" });
    const left: string[] = [];
    const again = await (await life()).file({ ...other, abandon: async (uploadId) => void left.push(uploadId) });
    expect(left).toEqual(["u1"]);
    expect([again.memory.uploadId, again.memory.parts.size]).toEqual([null, 0]);
  });

  test("is remembered while it could not be told of", async () => {
    const { memory } = await (await life()).file(file);
    await memory.begin(upload);
    const failing = (await life()).file({
      ...file,
      partBytes: 6_000_000,
      abandon: () => Promise.reject(new Error("away")),
    });
    await expect(failing).rejects.toThrow("away");
    expect((await life()).unfinished()).toEqual([{ key: "k", uploadId: "u1" }]);
  });

  test("is none while the same file goes on, and none once it is finished", async () => {
    const abandon = () => Promise.reject(new Error("it was abandoned"));
    const { memory } = await (await life()).file(file);
    await memory.begin(upload);
    const second = await (await life()).file({ ...file, abandon });
    expect(second.memory.uploadId).toBe("u1");
    await second.memory.finish('"e"');
    await (await life()).file({ ...file, partBytes: 6_000_000, abandon });
  });
});

test("a file that went in one request needs no line of its part", async () => {
  const { memory } = await (await life()).file(file);
  await memory.finish('"e"', "01020304");
  const after = await (await life()).file(file);
  expect(after.memory.sentEtag).toBe('"e"');
  expect(after.memory.parts.get(1)).toEqual({ etag: '"e"', crc32: "01020304" });
});

describe("of many files that were done an earlier life", () => {
  const names = Array.from({ length: 3_000 }, (_, index) => `many/${index}`);
  const sent = (key: string) => ({ etag: `"${key}"`, crc32: "01020304" });

  async function lifeBefore(): Promise<SendJournal> {
    const before = await life();
    await before.ahead(names.map((key) => ({ ...file, key })));
    for (const key of names) {
      const { memory } = await before.file({ ...file, key });
      // Not one after the other: each waits for the disk.
      if (key !== "many/7") void memory.finish(`"${key}"`, "01020304");
    }
    await before.close();
    return before;
  }

  test("remembers each, which file it was and what the store said", async () => {
    const before = await lifeBefore();
    const after = await life();
    expect(after.unfinished()).toEqual([]);
    for (const key of names) {
      const [old, { memory, nonce }] = [await before.file({ ...file, key }), await after.file({ ...file, key })];
      expect(nonce).toBe(old.nonce);
      expect([memory.sentEtag, memory.parts.get(1) ?? null]).toEqual(
        key === "many/7" ? [null, null] : [`"${key}"`, sent(key)],
      );
    }
  });

  test("one that was changed since begins from nothing, and so it is for the life after that", async () => {
    await lifeBefore();
    const changed = { ...file, key: "many/9", identity: { ...identity, mtimeNs: "5" } };
    const { memory } = await (await life()).file(changed);
    expect([memory.sentEtag, memory.parts.size]).toEqual([null, 0]);
    const after = await life();
    expect((await after.file(changed)).memory.sentEtag).toBeNull();
    expect((await after.file({ ...file, key: "many/10" })).memory.sentEtag).toBe('"many/10"');
  });

  test("one that had to be sent again is known by what the store said last", async () => {
    await lifeBefore();
    const { memory } = await (await life()).file({ ...file, key: "many/9" });
    await memory.finish('"again"', "0a0b0c0d");
    const after = await (await life()).file({ ...file, key: "many/9" });
    expect([after.memory.sentEtag, after.memory.parts.get(1)?.crc32]).toEqual(['"again"', "0a0b0c0d"]);
  });

  test("none is written down ahead once more", async () => {
    await lifeBefore();
    const { size } = await stat(join(folder, "j.jsonl"));
    await (await life()).ahead(names.map((key) => ({ ...file, key })));
    expect((await stat(join(folder, "j.jsonl"))).size).toBe(size);
  });
});

describe("uploads that may have been begun without our hearing of it", () => {
  test("are none when the first Create was answered", async () => {
    const { memory } = await (await life()).file(file);
    await memory.begin(upload);
    expect(memory.lostWithinMs).toBe(null);
  });

  test("lie between the first try and the answer, also for a later life of the process", async () => {
    const { memory } = await (await life()).file(file);
    await memory.begin({ ...upload, firstTryMs: Date.now() - 5_000 });
    const after = await (await life()).file(file);
    for (const { lostWithinMs } of [memory, after.memory]) {
      expect(lostWithinMs).toBeGreaterThanOrEqual(5_000);
      expect(lostWithinMs).toBeLessThan(60_000);
    }
  });

  test("may be of an earlier life of the process that was killed before it heard", async () => {
    await (await life()).file(file);
    const { memory } = await (await life()).file(file);
    await memory.begin(upload);
    expect(memory.lostWithinMs).not.toBe(null);
  });
});

test("many files are remembered ahead in one go, but not those that are known already", async () => {
  const first = await life();
  const { nonce } = await first.file(file);
  const second = await life();
  const others = ["a", "b"].map((key) => ({ ...file, key }));
  await second.ahead([file, ...others]);
  const third = await life();
  expect((await third.file(file)).nonce).toBe(nonce);
  for (const other of others) expect((await third.file(other)).nonce).toBe((await second.file(other)).nonce);
});

test("a file that was let go of is remembered by the disk alone", async () => {
  const journal = await life();
  const { nonce, memory } = await journal.file(file);
  await memory.begin(upload);
  journal.letGo(file.key);
  expect(journal.unfinished()).toEqual([]);
  const after = await life();
  expect(after.unfinished()).toEqual([{ key: "k", uploadId: "u1" }]);
  expect((await after.file(file)).nonce).toBe(nonce);
});
