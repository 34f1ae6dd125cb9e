import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { createFolderSyncs, openJournal } from "./journal.ts";

const record = z.object({ n: z.number() });
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-journal-"));
  path = join(folder, "deep", "journal.jsonl");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(numbers: number[]) {
  const journal = await openJournal(path, record);
  await Promise.all(numbers.map((n) => journal.append({ n })));
  await journal.close();
}

async function read() {
  const journal = await openJournal(path, record);
  await journal.close();
  return journal.takeRecords().map(({ n }) => n);
}

test("what was appended is there after it is opened again", async () => {
  await write([1, 2, 3]);
  expect(await read()).toEqual([1, 2, 3]);
});

test("a torn last line is forgotten, and later lines are not glued to it", async () => {
  await write([1, 2, 3]);
  const { length } = await readFile(path);
  await truncate(path, length - 4);
  await write([4]);
  expect(await read()).toEqual([1, 2, 4]);
});

test("a line whose checksum is wrong ends the journal there", async () => {
  await write([1, 2, 3]);
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace('{"n":2}', '{"n":7}'));
  expect(await read()).toEqual([1]);
});

test("a whole line of a kind this version does not know is no torn tail", async () => {
  await write([1]);
  const other = await openJournal(path, z.object({ later: z.string() }));
  await other.append({ later: "version" });
  await other.close();
  await write([2]);
  expect(await read()).toEqual([1, 2]);
});

test("what a full disk left of a line does not hide the lines that follow", async () => {
  // A process that may write only 8 KiB to a file stands for the disk: the long line is written in part, then refused.
  const script = `(async () => {
    process.on("SIGXFSZ", () => undefined);
    const { openJournal } = await import(process.argv[1]);
    const journal = await openJournal(process.argv[2], { safeParse: (data) => ({ success: true, data }) });
    await journal.append({ n: 1 });
    const refused = await journal.append({ n: 2, text: "x".repeat(64_000) }).catch((error) => error.code);
    await journal.append({ n: 3 });
    await journal.close();
    console.log(refused);
  })()`;
  const limited = ["-c", 'ulimit -f 16; exec "$@"', "sh", process.execPath, "-e", script];
  const { stdout } = spawnSync("sh", [...limited, join(import.meta.dirname, "journal.ts"), path], { encoding: "utf8" });
  expect(stdout.trim()).toBe("WRITE_FAILED");
  expect(await read()).toEqual([1, 3]);
});

test("one for whose smaller self there is no room is opened as it is, and goes on", async () => {
  // Twice what the process may write to a file, and none of it can be left out.
  await write(Array.from({ length: 1_000 }, (_, at) => at));
  const script = `(async () => {
    process.on("SIGXFSZ", () => undefined);
    const { openJournal } = await import(process.argv[1]);
    const journal = await openJournal(process.argv[2], { safeParse: (data) => ({ success: true, data }) });
    const records = journal.takeRecords();
    await journal.compact(() => records);
    console.log(await journal.append({ n: 0 }).catch((error) => error.code));
    await journal.close();
  })()`;
  const limited = ["-c", 'ulimit -f 16; exec "$@"', "sh", process.execPath, "-e", script];
  const { stdout } = spawnSync("sh", [...limited, join(import.meta.dirname, "journal.ts"), path], { encoding: "utf8" });
  expect(stdout.trim()).toBe("WRITE_FAILED");
  expect(await readdir(join(folder, "deep"))).toEqual(["journal.jsonl"]);
  expect(await read()).toHaveLength(1_000);
});

test("garbage at the end does no harm", async () => {
  await write([1]);
  await appendFile(path, Buffer.alloc(300, 0));
  expect(await read()).toEqual([1]);
});

test("compaction keeps what it is told and everything appended after it was asked for", async () => {
  await write([1, 2, 3]);
  const journal = await openJournal(path, record);
  const compacted = journal.compact(() => [{ n: 3 }]);
  const appended = journal.append({ n: 4 });
  await Promise.all([compacted, appended]);
  await journal.append({ n: 5 });
  await journal.close();
  expect(await read()).toEqual([3, 4, 5]);
});

test("a folder that many files come to is synced for many at a time, after all of them have come", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const sync = vi.fn((_folder: string) => released);
  const syncs = createFolderSyncs(sync);
  const first = syncs("a");
  const beside = [syncs("a"), syncs("a"), syncs("a")];
  expect(sync.mock.calls).toEqual([["a"]]);
  void syncs("b");
  expect(sync.mock.calls).toEqual([["a"], ["b"]]);
  release();
  await Promise.all([first, ...beside]);
  expect(sync.mock.calls).toEqual([["a"], ["b"], ["a"]]);
});

test("a sync that failed fails for those who asked for it, and the next one is another try", async () => {
  const sync = vi.fn((_folder: string) => Promise.resolve());
  sync.mockRejectedValueOnce(new Error("no such disk"));
  const syncs = createFolderSyncs(sync);
  const [first, second] = [syncs("a"), syncs("a")];
  await expect(first).rejects.toThrow("no such disk");
  await second;
  expect(sync).toHaveBeenCalledTimes(2);
});
